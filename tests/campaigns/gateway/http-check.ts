import { contentDigest, HOUR, seconds, toUtf8, writeInstant } from '@chancery/protocol'
import type { JoinCertificate, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testProof,
  testSigner,
} from '@chancery/testkit'
import { DIALECT_OF, PROXIES, startCheckedService, startCheckProxy } from '../../instances/check-proxies.ts'
import type { CheckedService, CheckProxy, ServedRequest } from '../../instances/check-proxies.ts'
import { sendRaw } from '../../instances/raw-requests.ts'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { caseOf, type CertificateKind, type CheckCase } from './http-check-cases.ts'

export const summary = 'through nginx, Caddy and HAProxy only requests with a fresh proof of a trusted node pass'
/** Requests. */
export const defaultCount = 20_000

const AUDIENCE = 'https://print.example'
const CALLERS = 12
/** The campaign ends after this time, also with fewer requests. */
const MAX_SECONDS = 900
const ROUTES = [
  { method: 'GET', path: '/jobs/{job*}' },
  { method: 'POST', path: '/uploads', body: 'upstream' },
]

interface Setup {
  readonly service: CheckedService
  readonly proxies: readonly CheckProxy[]
  readonly certificates: Readonly<Record<CertificateKind, JoinCertificate>>
  readonly signer: Signer
  close(): Promise<void>
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const setup = await openSetup()
  try {
    const cases = Array.from({ length: count }, (_each, index) => caseOf(index, random))
    const statuses = await sendAll(cases, setup, log)
    const { violations, passed } = compare(cases.slice(0, statuses.length), statuses, setup)
    log(`${statuses.length} requests, ${passed} passed`)
    return conclude(log, statuses.length, violations)
  } finally {
    await setup.close()
  }
}

/** Returns the status of each request, in the order of the cases. */
async function sendAll(cases: readonly CheckCase[], setup: Setup, log: (line: string) => void): Promise<number[]> {
  const end = performance.now() + MAX_SECONDS * 1000
  const statuses: number[] = []
  for (let from = 0; from < cases.length && performance.now() < end; from += CALLERS) {
    const group = cases.slice(from, from + CALLERS)
    statuses.push(...(await Promise.all(group.map((each) => sendCase(each, setup)))))
    if (Math.floor(from / 5000) !== Math.floor((from + CALLERS) / 5000)) log(`${statuses.length} requests`)
  }
  return statuses
}

async function sendCase(each: CheckCase, { proxies, certificates, signer }: Setup): Promise<number> {
  const proxy = proxies[each.proxy]
  if (proxy === undefined) throw new Error('no proxy')
  const proof = await testProof({
    method: each.signedMethod,
    target: each.signedTarget,
    body: each.signedBody,
    audience: each.audience === 'own' ? AUDIENCE : 'https://other.example',
    certificate: certificates[each.certificate],
    signer,
    now: systemClock.now() - seconds(each.ageSeconds),
  })
  const fields = each.changeProof(Object.entries(proof))
  const length = each.body === '' ? [] : [['Content-Length', String(each.body.length)] as const]
  const request = {
    method: each.method,
    target: each.target,
    headers: [...fields, ...each.headers, ...length],
    body: each.body,
  }
  const { status } = await sendRaw(proxy.port, request)
  if (!each.isRepeated) return status
  // The first counts as passed when it did; the second must not.
  const again = await sendRaw(proxy.port, request)
  return again.status === 200 ? 299 : status
}

/** What reached the service must be allowed by the model, and plain good requests must have passed. */
function compare(cases: readonly CheckCase[], statuses: readonly number[], { service, certificates, signer }: Setup) {
  const violations: string[] = []
  const served = new Map<number, ServedRequest[]>()
  for (const each of service.served) {
    const id = Number(/[?&]case=(\d+)/.exec(each.url)?.[1] ?? -1)
    served.set(id, [...(served.get(id) ?? []), each])
  }
  if (served.has(-1)) violations.push('a request without a case was served')
  for (const [index, each] of cases.entries()) {
    const seen = served.get(index) ?? []
    const what = `case ${index} through ${PROXIES[each.proxy]}: ${each.method} ${each.target} (${each.notes.join(', ')})`
    if (seen.length > 0 && !each.mayPass) violations.push(`passed: ${what}`)
    if (seen.length > 1) violations.push(`passed twice: ${what}`)
    if (each.mustPass && statuses[index] !== 200) violations.push(`status ${statuses[index]}: ${what}`)
    const { cert_id } = certificates[each.certificate]
    for (const request of seen)
      violations.push(...headerProblems(request, cert_id, signer).map((text) => `${text}: ${what}`))
  }
  return { violations, passed: served.size }
}

function headerProblems({ rawHeaders, url, body }: ServedRequest, certId: string, { publicKey }: Signer): string[] {
  const values = (name: string): string =>
    rawHeaders
      .filter((_each, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase().replaceAll('_', '-') === name)
      .join('|')
  return [
    ...(values('chancery-node') === certId ? [] : ['another node']),
    ...(values('chancery-node-key') === publicKey ? [] : ['another key']),
    ...(values('chancery-roles') === 'role:client' ? [] : ['other roles']),
    ...(values('chancery-decision') === '' ? [] : ['a decision']),
    ...(url.startsWith('/uploads') && values('chancery-body-digest') !== values('content-digest')
      ? ['another digest']
      : []),
    ...(url.startsWith('/jobs') && contentDigest(body) !== contentDigest(toUtf8('')) ? ['a body'] : []),
  ]
}

async function openSetup(): Promise<Setup> {
  const now = systemClock.now()
  const [by, stranger] = [await testIssuer('agency'), await testIssuer('agency', 'na-other')]
  const signer = await testSigner('node', 'campaign')
  const facts = { node_public_key: signer.publicKey }
  const certificates = {
    good: await testCertificate(by, now, facts),
    revoked: await testCertificate(by, now, facts),
    foreign: await testCertificate(stranger, now, { ...facts, issued_by: by.keyId }),
    expired: await testCertificate(by, now, { ...facts, expires_at: writeInstant(now - HOUR / 2n) }),
    'other-key': await testCertificate(by, now),
  }
  const list = await testList(by, now, { entries: [{ certificate_id: certificates.revoked.cert_id }] })
  const policy = {
    ...testPolicy({ agency: testNetwork(by, list) }, [testClient('caller', ['agency'])]),
    check: { audience: AUDIENCE, requests_per_minute: 1_000_000, routes: ROUTES },
  }
  const start = (dialect: string) =>
    startTestGateway({ policy, settings: { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: dialect } })
  const gateways = { original: await start('original'), forwarded: await start('forwarded') }
  const service = await startCheckedService()
  const proxies: CheckProxy[] = []
  for (const kind of PROXIES) {
    const check = gateways[DIALECT_OF[kind]].gateway.listening.check?.port ?? 0
    proxies.push(await startCheckProxy(kind, { check, service: service.port }))
  }
  // Proofs from the second in which a gateway started count as spent.
  const startedSecond = systemClock.now() / seconds(1)
  while (systemClock.now() / seconds(1) <= startedSecond + 1n) await new Promise((done) => setTimeout(done, 50))
  return {
    service,
    proxies,
    certificates,
    signer,
    async close() {
      for (const proxy of proxies) await proxy.stop()
      await service.stop()
      for (const gateway of Object.values(gateways)) await gateway.stop()
    },
  }
}
