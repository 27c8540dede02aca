// A worker for events of hookonce, with pg: claims one event after another until SIGTERM.

import { setTimeout as wait } from 'node:timers/promises'

import pg from 'pg'

import { isLost, nextClaim, retry } from './claim.js'
import { book, bookAndPrint } from './handler.js'

const USAGE = `Usage: node worker.js DATABASE ROUTE LONG_ROUTE COMMAND

Books each event of both routes once; of LONG_ROUTE it then runs COMMAND with the event's id.
  LEASE  seconds after which another worker takes over what this one has left (60)`

/** How long to wait before asking again when nothing is due, in milliseconds. */
const IDLE = 1000

if (process.argv.length !== 6) {
  console.error(USAGE)
  process.exit(2)
}
const [database, route, longRoute, command] = process.argv.slice(2)
// In seconds.
const lease = Number(process.env.LEASE ?? 60)
const name = `node:${process.pid}`

// One connection to work, one to extend the lease meanwhile.
const pool = new pg.Pool({ connectionString: database, max: 2 })
// Of a connection that breaks the next query says so; without these the process would end.
pool.on('error', () => {})
pool.on('connect', (client) => client.on('error', () => {}))

const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

while (!stop.signal.aborted) {
  try {
    if (await turn()) continue
  } catch (error) {
    const hint = error.hint ? `. ${error.hint}` : ''
    console.error(`the database refused, asking again: ${error.message || error.code}${hint}`)
  }
  await wait(IDLE, undefined, { signal: stop.signal }).catch(() => {})
}
await pool.end()

/** Claims one event and handles it; says whether one was due. */
async function turn() {
  const claim = await nextClaim(pool, name, [route, longRoute], lease)
  if (!claim) return false
  const where = `${claim.route} ${claim.id}`
  try {
    await handle(claim).catch(async (error) => {
      if (isLost(error)) throw error
      console.error(`${where}: this attempt failed: ${error.message}`)
      await retry(pool, claim, error.message)
    })
  } catch (error) {
    if (!isLost(error)) throw error
    console.error(`${where}: the claim was lost, nothing written`)
  }
  return true
}

function handle(claim) {
  return claim.route === longRoute ? bookAndPrint(pool, claim, command) : book(pool, claim)
}
