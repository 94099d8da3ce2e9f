"""How the embedded checker's model is made, step by step. Not shipped in the wheel; needs the extras it names."""
