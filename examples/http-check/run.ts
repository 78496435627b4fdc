/**
 * Sends requests of two nodes through nginx, Caddy and HAProxy, as far as they are installed, to a service that verifies
 * nothing itself. Then it revokes a node, and stops the gateways. It takes about a minute, and needs `chancery` in the
 * path. The exit code is 0 when every request had the expected result.
 *
 *   node run.ts [nginx] [caddy] [haproxy]
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import {
  AUDIENCE,
  chancery,
  chooseProxies,
  close,
  joinNode,
  listen,
  startAuthority,
  startProxies,
  stopGateways,
} from './setup.ts'

/** The member `check` of the policy file. */
const check = {
  audience: AUDIENCE,
  routes: [
    { method: 'GET', path: '/printers' },
    {
      method: 'POST',
      path: '/printers/{printer}/jobs',
      capability: 'print',
      resource: { type: 'printer', id: '{printer}' },
      body: 'upstream',
    },
  ],
}

let served = 0

/** Uses the results of the check. The proxy does not send the body to the check, so the service compares its digest. */
const service = createServer((request, response) => {
  const hash = createHash('sha256')
  request.on('data', (chunk: Buffer) => void hash.update(chunk))
  request.on('end', () => {
    served += 1
    const {
      'chancery-node': node = '',
      'chancery-body-digest': digest,
      'chancery-decision': decision,
    } = request.headers
    if (node === '' || digest !== `sha-256=:${hash.digest('base64')}:`) response.writeHead(403)
    response.end(typeof decision === 'string' && decision !== '' ? `decision ${decision}` : '')
  })
})

let wrong = 0

/** Prints one request. `expected` is a status, or `closed` for any refusal. The service must get allowed requests only. */
async function show(proxy: string, what: string, expected: number | 'closed', send: () => Promise<Response>) {
  const before = served
  const response = await send()
  const text = response.ok ? await response.text() : ''
  const isServed = served > before
  const isExpected = expected === 'closed' ? response.status >= 400 : response.status === expected
  const isRight = isExpected && isServed === response.ok
  if (!isRight) wrong += 1
  const result = `${response.status} ${isServed ? 'reached the service' : 'stopped'} ${text}`.trimEnd()
  console.log(`  ${proxy.padEnd(8)} ${what.padEnd(44)} ${result}${isRight ? '' : '  WRONG'}`)
}

async function main(): Promise<void> {
  const names = chooseProxies(process.argv.slice(2))
  if (names.length === 0) throw new Error('Install nginx, caddy or haproxy.')
  console.log(`Starting an authority, gateways and ${names.join(', ')}.`)
  const authority = await startAuthority()
  const printing = await joinNode(authority, 'printing', 'print')
  const reading = await joinNode(authority, 'reading', 'read')
  const facts = { check, nodes: [printing, reading], service: await listen(service) }
  const proxies = await startProxies(names, facts)
  // A gateway counts proofs from before its start as used.
  await pause(1000)
  const job = { method: 'POST', body: 'text to print' }

  console.log('\nProofs and decisions:')
  for (const [proxy, url] of proxies) {
    const jobs = `${url}/printers/p1/jobs`
    await show(proxy, 'GET /printers without a proof', 401, () => fetch(`${url}/printers`))
    await show(proxy, 'GET /printers', 200, () => reading.call(`${url}/printers`))
    await show(proxy, 'GET /secrets, which no route permits', 403, () => reading.call(`${url}/secrets`))
    await show(proxy, 'POST a job with the capability print', 200, () => printing.call(jobs, job))
    await show(proxy, 'POST a job without it', 403, () => reading.call(jobs, job))
  }

  console.log('\nThe node «reading» is revoked:')
  await chancery('revoke ./reading/certificate.json --reason cessation_of_operation --yes')
  for (const [proxy, url] of proxies) {
    // The gateways fetch the new list within 10 seconds.
    while ((await reading.call(`${url}/printers`)).ok) await pause(500)
    await show(proxy, 'GET /printers by «reading»', 403, () => reading.call(`${url}/printers`))
    await show(proxy, 'GET /printers by «printing»', 200, () => printing.call(`${url}/printers`))
  }

  console.log('\nThe gateways are stopped:')
  await stopGateways()
  for (const [proxy, url] of proxies)
    await show(proxy, 'GET /printers by «printing»', 'closed', () => printing.call(`${url}/printers`))
  console.log(wrong === 0 ? '\nEvery request had the expected result.' : `\n${wrong} requests had another result.`)
}

process.once('SIGINT', () => void close().finally(() => process.exit(130)))
try {
  await main()
} finally {
  await close()
}
process.exitCode = wrong === 0 ? 0 : 1
