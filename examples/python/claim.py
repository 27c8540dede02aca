"""The SQL functions of hookonce, as this worker calls them."""

import asyncio
from dataclasses import dataclass
from uuid import UUID

from psycopg import errors
from psycopg.rows import class_row
from psycopg.types.json import Jsonb


@dataclass
class Claim:
    """The right to handle one event for one route, until the lease ends."""

    id: UUID
    route: str
    token: UUID
    payload: str  # the sender's own webhook, with this one event
    steps: dict  # what earlier attempts have done, by name
    lease: float


async def next_claim(pool, worker, routes, lease):
    """Claims what is due first, or gives None.

    Committed by itself, so that the attempt is counted even if this process dies.
    """
    async with pool.connection() as connection:
        rows = connection.cursor(row_factory=class_row(Claim))
        await rows.execute(
            """select id, route, token, payload, steps, %s::float as lease
               from hookonce.claim(%s, %s, make_interval(secs => %s), 1)""",
            (lease, worker, routes, lease),
        )
        return await rows.fetchone()


async def record_step(connection, claim, name, result=None):
    """Remembers that a step is done; in the transaction of its effect."""
    await connection.execute(
        "select hookonce.record_step(%s, %s, %s, %s, %s)",
        (claim.id, claim.route, claim.token, name, Jsonb(result)),
    )


async def finish(connection, claim):
    """Completes the task; in the transaction of the last effect."""
    await connection.execute(
        "select hookonce.finish(%s, %s, %s)", (claim.id, claim.route, claim.token)
    )


async def retry(pool, claim, error):
    """Gives the task up for this time: it is due again by the route's policy, or dead."""
    async with pool.connection() as connection:
        await connection.execute(
            "select hookonce.retry(%s, %s, %s, %s)", (claim.id, claim.route, claim.token, error)
        )


async def keep(pool, claim, work):
    """Does what takes long, and lets the lease end later every third of it.

    Where the claim is lost it fails, and the work is cancelled.
    """
    await extend(pool, claim)
    task = asyncio.create_task(work())
    try:
        while not (await asyncio.wait([task], timeout=claim.lease / 3))[0]:
            await extend(pool, claim)
        return task.result()
    finally:
        task.cancel()


async def extend(pool, claim):
    async with pool.connection() as connection:
        await connection.execute(
            "select hookonce.extend(%s, %s, %s, make_interval(secs => %s))",
            (claim.id, claim.route, claim.token, claim.lease),
        )


def is_lost(error):
    """Whether another has the task now, or it has ended: nothing is wrong, and nothing was written."""
    return isinstance(error, errors.DatabaseError) and error.sqlstate == "HK001"
