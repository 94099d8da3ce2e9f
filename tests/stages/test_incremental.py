"""Archive stages bring their tables up to date: after any edits they must hold what a store from nothing holds."""

from __future__ import annotations

import random

import pytest

from tests.support.corpora import write_folder
from tests.support.nights import verify

TABLES = ("found_elsewhere", "clusters", "sketches", "phrases", "overlaps")
_WORDS = "otter weir lock pier mill barge tide flour log storm quay reed gate rope mast keel"


class Archive:
    """Documents that quote each other's sources, sources that copy each other, some of them shared by all."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.prose = [self._prose() for _ in range(6)]
        self.documents = {f"d{k}": self._document() for k in range(8)}
        self.sources = {(f"d{k}", n): self._source() for k in range(8) for n in (1, 2)}
        self.sources |= {(None, f"note{k}"): self._source() for k in range(3)}

    def _prose(self) -> str:
        return " ".join(self._sentence() for _ in range(12))

    def _sentence(self) -> str:
        return " ".join(self.dice.choices(_WORDS.split(), k=self.dice.randint(9, 14))).capitalize() + "."

    def _document(self) -> str:
        words = self.dice.choice(self.prose).split()
        first = self.dice.randrange(len(words) - 12)
        quote = " ".join(words[first : first + self.dice.randint(8, 12)])
        return f'The log says "{quote}" [{self.dice.randint(1, 2)}]. {self._sentence()[:-1]} [1].\n'

    def _source(self) -> str:
        if self.dice.random() < 0.4:
            return self.dice.choice(self.prose)
        return f"{self._prose()} {self.dice.choice(self.prose)[:300]} {self._prose()}"

    def edit(self) -> None:
        """One edit of a kind drawn by lot."""
        kind = self.dice.choice(["document", "source", "source", "lost document", "lost source", "new", "note"])
        if kind == "document":
            self.documents[self.dice.choice(sorted(self.documents))] = self._document()
        elif kind == "lost document" and len(self.documents) > 4:
            self.documents.pop(self.dice.choice(sorted(self.documents)))
        elif kind == "lost source" and len(self.sources) > 8:
            self.sources.pop(self.dice.choice(list(self.sources)))
        elif kind == "new":
            name = f"n{self.dice.randrange(100)}"
            self.documents[name] = self._document()
            self.sources[name, 1] = self._source()
        elif kind == "note":
            self.sources[None, f"note{self.dice.randrange(5)}"] = self._source()
        else:
            self.sources[self.dice.choice(list(self.sources))] = self._source()

    def write(self, root):
        rows = [
            {"id": f"s{n}", "document_id": owner, "n": n, "text": text}
            if owner
            else {"id": n, "text": text, "url": f"https://example.org/{n}"}
            for (owner, n), text in self.sources.items()
        ]
        for old in (root / "documents").glob("*.md"):
            old.unlink()
        return write_folder(root, self.documents, rows)


@pytest.mark.parametrize("seed", range(2))
def test_edits_lead_to_what_a_store_from_nothing_holds(tmp_path, seed):
    archive = Archive(random.Random(seed))
    found = 0
    for night in range(3):
        corpus = archive.write(tmp_path / "harbour")
        kept = verify(tmp_path / "kept", corpus, checker={"kind": "none"})
        fresh = verify(tmp_path / f"fresh{night}", corpus, checker={"kind": "none"})
        for name in TABLES:
            assert kept.read(name).equals(fresh.read(name)), name
        found += fresh.read("found_elsewhere").height
        for _ in range(archive.dice.randint(1, 3)):
            archive.edit()
    assert found, "the archive quotes itself"
