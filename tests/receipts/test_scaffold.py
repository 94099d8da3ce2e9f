from __future__ import annotations

import time

import pytest

from verification_pipeline import keys
from verification_pipeline.receipts.scaffold import find_leaks
from verification_pipeline.records import Document


def document(text: str, body_start: int = 0) -> Document:
    return Document("d" * 32, "notes", "a", text, keys.text_sha256(text), body_start=body_start)


@pytest.mark.parametrize(
    ("text", "words", "kind"),
    [
        (
            "Built in 1974 \ue200cite\ue202turn0search5\ue202turn0search15\ue201.",
            "\ue200",
            "private-use citation token",
        ),
        ("It rained citeturn2search1turn2news4 all day.", "citeturn2search1turn2news4", "private-use citation token"),
        ("It rained :contentReference[oaicite:3]{index=3}.", ":contentReference[oaicite:3]{index=3}", "private-use"),
        ("It rained【4:0†source】.", "【4:0†source】", "private-use citation token"),
        ("<|im_start|>assistant\nHello", "<|im_start|>", "chat-template token"),
        ("[INST] Write a report. [/INST]", "[INST]", "chat-template token"),
        ('Then <invoke name="search"> came.', '<invoke name="search">', "tool tag"),
        ("<thinking>\nhm\n</thinking>", "<thinking>", "tool tag"),
        ("# T\n\n## System prompt\n\nText.", "## System prompt", "prompt header"),
        ("### Instruction:\nWrite.", "### Instruction:", "prompt header"),
        ("You are a helpful assistant that writes.\n", "You are a helpful assistant", "prompt header"),
        ("Dear {{customer_name}}, hello.", "{{customer_name}}", "template placeholder"),
        ("Dear ${user.name}, hello.", "${user.name}", "template placeholder"),
        ("Growth was [INSERT FIGURE] percent.", "[INSERT FIGURE]", "template placeholder"),
        ("Lorem ipsum dolor sit amet, consectetur.", "Lorem ipsum dolor sit amet", "template placeholder"),
    ],
)
def test_leaks_are_found_where_they_stand(text: str, words: str, kind: str):
    leak = find_leaks(document(text))[0]
    assert leak.text.startswith(words)
    assert text[leak.start : leak.end] == leak.text
    assert leak.detail is not None
    assert leak.detail.startswith(kind)


@pytest.mark.parametrize(
    "text",
    [
        "The template `{{name}}` is filled in later.",
        "```jinja\nDear {{name}}\n<|im_start|>\n```\n",
        "    {{name}} in an indented block\n",
        r"Then $\frac{{a}}{{b}}$ and \textbf{{word}} hold.",
        "Prices rose to $90 and {braces} stay.",
        "A footnote[^1], a marker 【12†L3-L9】, a link [TODO](https://a.example) and [1].",
        "He thinks aloud; the system prompts a user to answer a query.",
        "The bullet \uf0b7 of a word processor is a font's affair.",
        "She said: “You are a helpful assistant”, and left.",
        "a < b and c > d; <em>HTML</em> stays <br/>.",
        "Return the tool_call to the shelf.",
    ],
)
def test_what_a_document_says_itself_is_no_leak(text: str):
    assert find_leaks(document(text)) == []


def test_front_matter_is_not_prose():
    text = "---\ntemplate: {{name}}\n---\nText {{other}}."
    assert [leak.text for leak in find_leaks(document(text, text.index("Text")))] == ["{{other}}"]


def test_offsets_hold_in_any_script():
    text = "潮位は上がった。`{{é}}` 🌊 {{name}} 。"
    leak = find_leaks(document(text))[0]
    assert text[leak.start : leak.end] == "{{name}}"


@pytest.mark.parametrize("unit", ["{{", "\ue200cite", "<thinking ", "[INSERT ", "turn0search", "{{a}} ", "【1:2†"])
def test_hostile_repetition_stays_linear(unit: str):
    started = time.process_time()
    find_leaks(document(unit * 40_000))
    assert time.process_time() - started < 5
