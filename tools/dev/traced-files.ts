import { request } from 'node:http'
import { Session } from 'node:inspector/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type JsonObject, type Signer, signOperatorRequest, writeInstant, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  createInvite,
  newNodeCaller,
  startTestAuthority,
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'

/**
 * `node --conditions=development tools/dev/traced-files.ts [--list]`: how many source files a request runs through. A
 * file counts when one of its functions runs on the main thread in every one of several requests, so jobs in the
 * background and what is cached do not count. Prints one line for each request, with `--list` also the files.
 */

const ROOT = join(import.meta.dirname, '..', '..')
/** The first ones fill caches. */
const WARM_UPS = 3
const REQUESTS = 5

/** A request as it is sent: everything is signed before, so that no code of the caller runs meanwhile. */
interface Sent {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

for (const trace of [traceJoin, traceEvaluate, traceVerify]) {
  const { name, files } = await trace()
  console.log(`${name}: ${files.length}`)
  if (process.argv.includes('--list')) for (const file of files) console.log(`  ${file}`)
}
process.exit()

async function traceJoin() {
  const na = await startTestAuthority()
  const next = async (): Promise<Sent> => {
    const node = await newNodeCaller(na.url, 'traced', systemClock)
    const body = await node.prove({ invite_token: await createInvite(na) })
    return { url: `${na.url}/join`, headers: {}, body: writeJson(body) }
  }
  const files = await filesOf(next)
  await na.stop()
  return { name: 'POST /join', files }
}

async function traceEvaluate() {
  const na = await startTestAuthority()
  const member = { subject_id: 'vendor', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id = null } = accepted(await na.as('privileged')('POST', '/admin/attestations', member), 201)
  const signer = na.signers['standard']
  if (signer === undefined) throw new Error('no operator')
  const body = { attestation_id, requested_capability: 'secret.rotate' }
  const audience = na.genesis.network_authority.public_key
  const next = () => signed(`${na.url}/admin/boundary/evaluate`, body, audience, signer)
  const files = await filesOf(next)
  await na.stop()
  return { name: 'POST /admin/boundary/evaluate', files }
}

async function traceVerify() {
  const by = await testIssuer('agency')
  const caller = testClient('caller', ['agency'])
  const network = testNetwork(by, await testList(by, systemClock.now()))
  const gateway = await startTestGateway({ policy: testPolicy({ agency: network }, [caller]), state: 'new' })
  const certificate = await testCertificate(by, systemClock.now())
  const headers = { authorization: `Bearer ${caller.token}` }
  const body = JSON.stringify({ certificate })
  const files = await filesOf(async () => ({ url: `${gateway.url}/verify`, headers, body }))
  await gateway.stop()
  return { name: 'POST /verify of the gateway', files }
}

async function signed(url: string, body: JsonObject, audience: string, signer: Signer): Promise<Sent> {
  const { pathname: path } = new URL(url)
  const timestamp = writeInstant(systemClock.now())
  const asked = { method: 'POST', path, query: {}, audience, body, timestamp, nonce: crypto.randomUUID() }
  return { url, headers: { ...(await signOperatorRequest(asked, signer)) }, body: writeJson(body) }
}

/** The files that run for every request. */
async function filesOf(next: () => Promise<Sent>): Promise<readonly string[]> {
  for (let sent = 0; sent < WARM_UPS; sent += 1) await post(await next())
  let files: ReadonlySet<string> | undefined
  for (let sent = 0; sent < REQUESTS; sent += 1) {
    const asked = await next()
    await session.post('Profiler.takePreciseCoverage')
    await post(asked)
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const run = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    const named = new Set(run.filter(({ url }) => url.startsWith('file:')).map(({ url }) => pathOf(url)))
    files = files === undefined ? named : new Set([...files].filter((file) => named.has(file)))
  }
  return [...(files ?? [])].filter((file) => /^(?:apps|packages\/(?!testkit))/.test(file)).toSorted()
}

function pathOf(url: string): string {
  return relative(ROOT, fileURLToPath(url))
}

function post({ url, headers, body }: Sent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        answer.resume()
        answer.once('end', () => {
          if (answer.statusCode !== 200 && answer.statusCode !== 201) reject(new Error(`status ${answer.statusCode}`))
          else resolve()
        })
      },
    )
    sent.once('error', reject).end(body)
  })
}
