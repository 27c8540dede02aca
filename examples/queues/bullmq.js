// Takes the jobs that a `bullmq` sink adds, and books each event once, until SIGTERM.
//
// Usage: node bullmq.js URL QUEUE DATABASE
//   LEASE  seconds after which another worker takes over what this one has left (30)

import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'

const [url, queue, database] = process.argv.slice(2)
if (!database) {
  console.error('Usage: node bullmq.js URL QUEUE DATABASE')
  process.exit(2)
}

const books = new pg.Pool({ connectionString: database, max: 2 })
// An idle connection may be cut off; the pool opens another.
books.on('error', (error) => console.error(`a connection was lost: ${error.message}`))
await books.query('create table if not exists seen (key text primary key)')
await books.query('create table if not exists ledger (event_id text not null, payload jsonb not null)')

// BullMQ asks for this; a worker waits for a Redis that is away.
const connection = new Redis(url, { maxRetriesPerRequest: null })
const lease = Number(process.env.LEASE ?? 30) * 1000
const worker = new Worker(queue, (job) => bookOnce(job.data), {
  connection,
  // One job at a time keeps their order, as long as none fails.
  concurrency: 1,
  lockDuration: lease,
  stalledInterval: lease,
  // A job has failed once so many workers have died over it, or were too slow to say that they live.
  maxStalledCount: 10,
})
worker.on('error', (error) => console.error(`the queue failed, asking again: ${error.message}`))
worker.on('failed', (job, error) => console.error(`${job?.id}: this try failed: ${error.message}`))

process.once('SIGTERM', async () => {
  await worker.close()
  await connection.quit()
  await books.end()
})

/**
 * Books an event unless its key was seen: both in one transaction, so that neither is without the
 * other, however often the job is run and whenever this process dies.
 */
async function bookOnce(event) {
  const client = await books.connect()
  try {
    await client.query('begin')
    const seen = await client.query(
      'insert into seen (key) values ($1) on conflict do nothing',
      [event.idempotencykey],
    )
    if (seen.rowCount === 1) await book(client, event)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** The effect: the part to replace by your own. */
async function book(client, event) {
  await client.query('insert into ledger values ($1, $2)', [event.id, JSON.stringify(event.data)])
}
