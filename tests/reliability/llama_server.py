"""The LLM checker against a real server: llama.cpp with a tiny model of random weights, made on the spot.

    python -m venv /some/venv && /some/venv/bin/pip install 'llama-cpp-python[server]' gguf
    python -m tests.reliability.llama_server --python /some/venv/bin/python

The model knows nothing, so no verdict may come of it: what is shown is that the wire is right (formats that the server
refuses are stepped down, grammar-constrained JSON is parsed, cut answers are seen as cut), and that every pair is
accounted for with a reason.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import socket
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2

from tests.builders import evidence, item
from verification_pipeline.checkers import prompts
from verification_pipeline.checkers.llm.checker import LLMChecker
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.protocol import NotChecked
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI

_MODEL = """
import sys
import gguf, numpy as np
width, layers, heads, hidden = 64, 2, 4, 128
tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{i:02X}>".encode() for i in range(256))]
draw = np.random.default_rng(7)
out = gguf.GGUFWriter(sys.argv[1], "llama")
out.add_context_length(16384); out.add_embedding_length(width); out.add_block_count(layers)
out.add_feed_forward_length(hidden); out.add_head_count(heads); out.add_head_count_kv(heads)
out.add_layer_norm_rms_eps(1e-5); out.add_rope_dimension_count(width // heads); out.add_vocab_size(len(tokens))
out.add_tokenizer_model("llama"); out.add_token_list(tokens); out.add_token_scores([0.0] * len(tokens))
out.add_token_types([2, 3, 3] + [6] * 256); out.add_bos_token_id(1); out.add_eos_token_id(2); out.add_unk_token_id(0)
out.add_chat_template("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\\n{% endfor %}assistant:")
def random(name, *shape): out.add_tensor(name, (draw.standard_normal(shape) * 0.05).astype(np.float32))
random("token_embd.weight", len(tokens), width); random("output.weight", len(tokens), width)
out.add_tensor("output_norm.weight", np.ones(width, np.float32))
for n in range(layers):
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"): random(f"blk.{n}.{name}.weight", width, width)
    random(f"blk.{n}.ffn_gate.weight", hidden, width); random(f"blk.{n}.ffn_up.weight", hidden, width)
    random(f"blk.{n}.ffn_down.weight", width, hidden)
    for name in ("attn_norm", "ffn_norm"): out.add_tensor(f"blk.{n}.{name}.weight", np.ones(width, np.float32))
out.write_header_to_file(); out.write_kv_data_to_file(); out.write_tensors_to_file(); out.close()
"""


def short_schema() -> dict[str, Any]:
    """The answer's schema with bounded strings, so that a random model comes to an end."""
    schema = copy.deepcopy(prompts.SCHEMA)
    schema["properties"]["rows"] |= {"minItems": 1, "maxItems": 2}
    for one in schema["properties"]["rows"]["items"]["properties"].values():
        if "enum" not in one:
            one |= {"type": "string", "maxLength": 12}
    return schema


def run(python: str, folder: Path) -> dict[str, Any]:
    """What came of two pairs in each way of asking."""
    model = folder / "tiny.gguf"
    subprocess.run([python, "-c", _MODEL, str(model)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", str(model), "--n_ctx", "16384", "--port", str(port)]
    with (folder / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            return {
                name: ask(f"http://127.0.0.1:{port}/v1", folder / name, changes) for name, changes in ways().items()
            }
        finally:
            server.terminate()


def ways() -> dict[str, dict[str, Any]]:
    """Settings by name; the last asks for the schema in llama.cpp's own way."""
    grammar = {"response_format": {"type": "json_object", "schema": short_schema()}}
    return {
        "json_schema": {"answer_format": "json_schema"},
        "text": {"answer_format": "text"},
        "grammar": {"answer_format": "text", "parameters": {"temperature": 0.8, "seed": 3, **grammar}},
    }


def ask(url: str, folder: Path, changes: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            httpx2.get(f"{url}/models")
            break
        except httpx2.HTTPError:
            time.sleep(0.3)
    source = evidence("1", "The kiln reached 900 degrees. It cracked in May.")
    cases = [item("The kiln reached 900 degrees.", source), item("It cracked in June.", source)]
    rules = OpenAI(
        base_url=url,
        model="tiny",
        answer_limit_field="max_tokens",
        answer_tokens_base=100,
        answer_tokens_per_pair=200,
        candidates=0,
        **changes,
    )
    outcomes = LLMChecker(rules, "5a" * 32, folder).check(cases, WordRetriever())
    assert all(isinstance(one, NotChecked) for one in outcomes), "a random model proves nothing"
    with Ledger(folder) as ledger:
        sent = ledger.read("SELECT state, fault, input, output FROM requests ORDER BY id")
    return {"outcomes": Counter(f"{one.reason}: {one.rationale}" for one in outcomes), "requests": sent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="an interpreter that has llama-cpp-python[server] and gguf")
    options = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(options.python, Path(folder)), indent=1))


if __name__ == "__main__":
    main()
