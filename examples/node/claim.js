// The SQL functions of hookonce, as this worker calls them.

/**
 * Claims what is due first, or gives undefined. Committed by itself, so that the attempt is counted
 * even if this process dies.
 */
export async function nextClaim(pool, worker, routes, lease) {
  const due = await pool.query(
    `select id, route, token, payload, steps
     from hookonce.claim($1, $2, make_interval(secs => $3), 1)`,
    [worker, routes, lease],
  )
  return due.rows[0] && { ...due.rows[0], lease }
}

/** Does `work` in one transaction: all of it or nothing. */
export async function inTransaction(pool, work) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const done = await work(client)
    await client.query('commit')
    return done
  } catch (error) {
    // A connection that is broken can't, and needn't.
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** Remembers that a step is done; in the transaction of its effect. */
export async function recordStep(client, { id, route, token }, name, result = null) {
  await client.query('select hookonce.record_step($1, $2, $3, $4, $5)', [
    id, route, token, name, JSON.stringify(result),
  ])
}

/** Completes the task; in the transaction of the last effect. */
export async function finish(client, { id, route, token }) {
  await client.query('select hookonce.finish($1, $2, $3)', [id, route, token])
}

/** Gives the task up for this time: it is due again by the route's policy, or dead. */
export async function retry(pool, { id, route, token }, error) {
  await pool.query('select hookonce.retry($1, $2, $3, $4)', [id, route, token, error])
}

/**
 * Does what takes long, and lets the lease end later every third of it. Where the claim is lost it
 * fails, and `work` is told by its signal.
 */
export async function keep(pool, claim, work) {
  await extend(pool, claim)
  const lost = new AbortController()
  const again = () => extend(pool, claim).catch((error) => lost.abort(error))
  const timer = setInterval(again, (claim.lease * 1000) / 3)
  try {
    return await work(lost.signal)
  } catch (error) {
    throw lost.signal.reason ?? error
  } finally {
    clearInterval(timer)
  }
}

async function extend(pool, { id, route, token, lease }) {
  await pool.query('select hookonce.extend($1, $2, $3, make_interval(secs => $4))', [
    id, route, token, lease,
  ])
}

/** Whether another has the task now, or it has ended: nothing is wrong, and nothing was written. */
export function isLost(error) {
  return error.code === 'HK001'
}
