"""The LLM checker: any server that speaks the OpenAI chat API, asked online, by batch, or by a file.

`questions` says what one pair is asked as, and under which key its answer is stored; `requests` packs questions;
`answers` reads what comes back and `judging` turns it into verdicts; `ledger` keeps what was asked, answered and paid;
`client`, `online`, `batch` and `offline` carry requests; `money` counts; `checker` puts them behind the Checker
protocol. Verdicts of other kinds, sampling and severity do not belong here.
"""
