import { randomBytes } from 'node:crypto'
import { type JoinCertificate, type JsonObject, seconds, type Signer, toUtf8 } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  sendGatewayRequest,
  signAlso,
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
import type { GatewayResponse, TestIssuer } from '@chancery/testkit'
import { Client, credentials } from '@grpc/grpc-js'
import type { Random } from '../lib/random.ts'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { post } from './raw-requests.ts'
import { AUDIENCE, CHECK, type GatewaySetup, NODE_REQUESTS } from './setup.ts'

const QUICK_MS = 2000

interface ProvingNode {
  readonly certificate: JoinCertificate
  readonly signer: Signer
}

export async function provingNode(by: TestIssuer, random: Random): Promise<ProvingNode> {
  const signer = await testSigner('node', `proving-${random.next()}`)
  return { signer, certificate: await testCertificate(by, systemClock.now(), { node_public_key: signer.publicKey }) }
}

type Headers = Readonly<Record<string, string>>

export async function prove(node: ProvingNode, method = 'GET', target = '/jobs/7', aheadSeconds = 0): Promise<Headers> {
  const now = systemClock.now() + seconds(aheadSeconds)
  return { ...(await testProof({ ...node, method, target, audience: AUDIENCE, now })) }
}

/** As nginx asks. */
function ask(
  url: string,
  headers: Headers,
  from: string,
  method = 'GET',
  target = '/jobs/7',
): Promise<GatewayResponse> {
  const asked = { 'x-original-method': method, 'x-original-uri': target }
  return sendGatewayRequest(url, 'GET', '/check', { headers: { ...headers, ...asked }, from })
}

const reasonOf = ({ headers }: GatewayResponse): string => String(headers['chancery-reason'])

const capturedProofs: Attack<GatewaySetup> = {
  name: 'replays of a captured proof',
  async run({ by, check }, from, random) {
    const node = await provingNode(by, random)
    const captured = await prove(node)
    const first = await ask(check, captured, from)
    const replays = await Promise.all(Array.from({ length: NODE_REQUESTS + 10 }, () => ask(check, captured, from)))
    const fresh = await ask(check, await prove(node), from)
    const complaints = replays.some(({ status }) => status === 200) ? ['a proof passed twice'] : []
    for (const good of [first, fresh])
      if (good.status !== 200) complaints.push(`the node was answered with ${good.status} ${reasonOf(good)}`)
    return outcomeOf([first, ...replays, fresh], complaints)
  },
}

const hiddenBodies: Attack<GatewaySetup> = {
  name: 'bodies that the check does not see',
  async run({ by, check }, from, random) {
    const node = await provingNode(by, random)
    const length = random.pick<Headers>([{}, { 'x-original-length': '' }, { 'x-original-length': '4' }])
    const hidden = await ask(check, { ...(await prove(node, 'POST', '/jobs')), ...length }, from, 'POST', '/jobs')
    const headers = { ...(await prove(node, 'POST', '/jobs')), 'x-original-length': '0' }
    const none = await ask(check, headers, from, 'POST', '/jobs')
    const complaints = hidden.status === 200 ? ['a request with a body passed that the node signed without'] : []
    if (none.status !== 200) complaints.push(`a request without a body: ${none.status} ${reasonOf(none)}`)
    return outcomeOf([hidden, none], complaints)
  },
}

const manyFields: Attack<GatewaySetup> = {
  name: 'gRPC messages of many fields',
  async run({ grpc }, _from, random) {
    const pair = random.pick(['0801', '1a00', '0a00', 'ffff'])
    const fields = Buffer.alloc(2 * (2000 + random.below(200_000)), Buffer.from(pair, 'hex'))
    const client = new Client(grpc, credentials.createInsecure())
    const asIs = (value: Buffer): Buffer => value
    const began = performance.now()
    const [path, deadline] = ['/envoy.service.auth.v3.Authorization/Check', Date.now() + 20_000]
    const answer = await new Promise<Buffer | undefined>((resolve) => {
      client.makeUnaryRequest(path, asIs, asIs, nested(fields, 1, 4, 2), { deadline }, (_error, received) =>
        resolve(received),
      )
    })
    const tookMs = performance.now() - began
    client.close()
    // Field 3 of the answer is an allowed request.
    const complaints =
      answer?.includes(toUtf8('chancery-node')) === true ? ['a message of many fields was allowed'] : []
    if (tookMs > QUICK_MS) complaints.push(`the check needed ${Math.round(tookMs)} ms for ${fields.length} bytes`)
    return outcomeOf([], complaints)
  },
}

/** A message in fields of these numbers, the outermost first. */
function nested(bytes: Buffer, ...numbers: readonly number[]): Buffer {
  return numbers.toReversed().reduce((inner, number) => {
    const length: number[] = []
    for (let rest = inner.length; ; rest >>= 7) {
      length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest)
      if (rest <= 0x7f) break
    }
    return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), inner])
  }, bytes)
}

const restarted: Attack<GatewaySetup> = {
  name: 'proofs dated ahead before a restart',
  async run(_setup, from, random) {
    const by = await testIssuer('ahead')
    const list = await testList(by, systemClock.now())
    const policy = { ...testPolicy({ ahead: testNetwork(by, list) }, [testClient('c', ['ahead'])]), check: CHECK }
    const node = await provingNode(by, random)
    const settings = { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: 'original' }
    const start = (state: 'new' | 'kept', home?: string) =>
      startTestGateway({ policy, settings, state, ...(home === undefined ? {} : { home }) })
    const urlOf = ({ gateway }: Awaited<ReturnType<typeof start>>): string =>
      `http://127.0.0.1:${gateway.listening.check?.port ?? 0}`
    const before = await start('new')
    const captured = await prove(node, 'GET', '/jobs/7', 18 + random.below(10))
    const first = await ask(urlOf(before), captured, from)
    await before.stop('keep')
    const after = await start('kept', before.home)
    const second = await ask(urlOf(after), captured, from)
    await after.stop()
    const complaints = second.status === 200 ? ['a proof dated ahead passed again after a restart'] : []
    if (first.status !== 200) complaints.push(`the proof was answered with ${first.status} ${reasonOf(first)}`)
    return outcomeOf([first, second], complaints)
  },
}

const furtherSignatures: Attack<GatewaySetup> = {
  name: 'certificates with further signatures',
  async run({ url, client, by }, from, random) {
    const certificate = await testCertificate(by, systemClock.now())
    const signer = await testSigner('stranger', `stranger-${random.next()}`)
    const further = await signAlso(
      certificate,
      signer,
      random.pick(['stranger', by.keyId, randomBytes(9).toString('hex')]),
    )
    const signatures = random.chance(50) ? further.signatures : further.signatures.toReversed()
    const body = JSON.stringify({ certificate: { ...further, signatures } as unknown as JsonObject })
    const headers = { authorization: `Bearer ${client.token}` }
    const answer = await post({ url, from }, { path: '/verify', body, headers })
    const isTrusted = answer.text.includes('"trusted":true')
    return outcomeOf([answer], isTrusted ? ['a certificate with an unknown signature was trusted'] : [])
  },
}

export const CHECK_ATTACKS = [capturedProofs, hiddenBodies, manyFields, furtherSignatures, restarted] as const
