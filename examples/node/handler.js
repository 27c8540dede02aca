// What this worker does about an event: the part to replace by your own.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { finish, inTransaction, keep, recordStep } from './claim.js'

/** The short case: one effect, in one transaction with the finish. */
export async function book(pool, claim) {
  await inTransaction(pool, async (client) => {
    await write(client, claim, 'booked', claim.payload)
    // If another has taken the task over meanwhile this fails, and the booking is undone.
    await finish(client, claim)
  })
}

/**
 * The long case: books first, and remembers it; then runs a command that may take long, and notes what
 * it prints.
 */
export async function bookAndPrint(pool, claim, command) {
  if (!('book' in claim.steps)) {
    await inTransaction(pool, async (client) => {
      await write(client, claim, 'booked', claim.payload)
      await recordStep(client, claim, 'book')
    })
  }
  // No transaction is open meanwhile.
  const receipt = await keep(pool, claim, (signal) => print(claim, command, signal))
  await inTransaction(pool, async (client) => {
    await write(client, claim, 'printed', receipt)
    await finish(client, claim)
  })
}

async function write(client, claim, entry, note) {
  await client.query('insert into ledger (event_id, entry, note) values ($1, $2, $3)', [
    claim.id, entry, note,
  ])
}

/**
 * Runs the command. It may run again for the same event if this process dies before the finish; by the
 * key it can tell.
 */
async function print({ id, route }, command, signal) {
  const env = { ...process.env, IDEMPOTENCY_KEY: `${id}/${route}/print` }
  const printed = await promisify(execFile)(command, [id], { env, signal })
  return printed.stdout.trim()
}
