"""The least a client can do: best of n with a reward server, no search, no budget, no retries. What `best_of_n.py` compares with.

Usage: python lean_client.py URL PROMPTS.jsonl N IN_FLIGHT OUT.jsonl
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import aiohttp
import orjson


async def main(url: str, prompts: list[str], n: int, in_flight: int, out: Path) -> None:
    places = asyncio.Semaphore(in_flight)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers={"content-type": "application/json"}) as session:

        async def post(path: str, body: object) -> dict[str, list[dict[str, dict[str, str]]]]:
            async with places, session.post(url + path, data=orjson.dumps(body)) as response:
                response.raise_for_status()
                found: dict[str, list[dict[str, dict[str, str]]]] = orjson.loads(await response.read())
                return found

        async def candidate(prompt: str) -> tuple[str, object]:
            body = {"model": "fake", "messages": [{"role": "user", "content": prompt}], "temperature": 1.0, "max_tokens": 512}
            answer = (await post("/v1/chat/completions", body))["choices"][0]["message"]["content"]
            return answer, (await post("/v1/score", {"model": "rm", "text_1": prompt, "text_2": answer}))["data"][0]["score"]

        with out.open("wb") as file:

            async def one(prompt: str) -> None:
                file.write(orjson.dumps(await asyncio.gather(*[candidate(prompt) for _ in range(n)])) + b"\n")

            await asyncio.gather(*[one(prompt) for prompt in prompts])
            file.flush()
            os.fsync(file.fileno())


if __name__ == "__main__":
    address, path, samples, at_once, written = sys.argv[1:]
    texts = [json.loads(line)["prompt"] for line in Path(path).read_text("utf-8").splitlines()]
    arguments = (address, texts, int(samples), int(at_once), Path(written))
    try:
        import uvloop
    except ImportError:
        asyncio.run(main(*arguments))
    else:
        uvloop.run(main(*arguments))
