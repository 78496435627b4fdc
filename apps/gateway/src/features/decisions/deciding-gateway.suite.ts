import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JoinCertificate, type JsonObject, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  nodeCaller,
  startTestAuthority,
  startTestGateway,
  testClient,
  testPolicy,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { GatewayRequest, GatewayResponse, TestAuthority, TestClient, TestGateway } from '@chancery/testkit'

const SETTINGS = {
  NA_NODE_DECISIONS: 'own',
  NA_DECISION_RELAY_ROLES: 'role:relay',
  EVIDENCE_STORE: 'on',
}

/** A real authority and a real gateway that asks it, with a server between them that a test controls. */
export interface DecidingGateway {
  readonly clock: ManualClock
  readonly na: TestAuthority
  readonly gateway: TestGateway
  readonly asker: TestClient
  readonly relayCertificate: JoinCertificate
  /** Requests for a decision that reached the server in the middle. */
  readonly asked: JsonObject[]
  /** Changes an answer of the authority on its way; undefined cuts the connection. */
  change: (answer: JsonObject) => JsonObject | undefined
  ask(question: JsonObject, options?: GatewayRequest): Promise<GatewayResponse>
  attest(members?: JsonObject): Promise<string>
  /** The policy with the current list of the authority. */
  policy(decisions?: JsonObject): Promise<JsonObject>
  stop(): Promise<void>
}

export interface DecidingOptions {
  readonly kind: 'relay' | 'operator'
  readonly clients?: readonly TestClient[]
  readonly decisions?: JsonObject
  readonly state?: 'new'
  /** Further members of the policy. */
  readonly policy?: JsonObject
  readonly settings?: Readonly<Record<string, string>>
  /** Further members of the network. */
  readonly network?: JsonObject
  /** Further settings of the authority. */
  readonly authority?: Readonly<Record<string, string>>
  /** Further networks of the policy. */
  readonly networks?: JsonObject
}

export async function startDecidingGateway(options: DecidingOptions): Promise<DecidingGateway> {
  const clock = new ManualClock('2026-01-02T03:04:05.678Z')
  const na = await startTestAuthority({ clock, settings: { ...SETTINGS, ...options.authority } })
  const relaySigner = await testSigner('relay', 'gateway-relay')
  const node = nodeCaller(na.url, relaySigner, () => clock.now())
  const relayCertificate = await enroll(na, node, { roles: ['role:relay'] })
  const asker = testClient('asker', ['TEST-NET'], { decisions: true, proof_audiences: ['https://print.example'] })
  const middle = await startMiddle(na.url, (answer) => setup.change(answer))
  const home = await mkdtemp(join(tmpdir(), 'chancery-deciding-'))
  const files = {
    'relay.json': writeJson(relayCertificate),
    'relay.key': writePrivateKeyFile(testSeed('gateway-relay')),
    'operator.key': writePrivateKeyFile(testSeed('op-standard'), 'op-standard'),
  }
  const policy = async (decisions: JsonObject = {}): Promise<JsonObject> => {
    const crl = accepted(await na.request('GET', '/crl'))
    const isRelay = options.kind === 'relay'
    const network = {
      anchors: { 'na-test': na.genesis.network_authority.public_key },
      crl,
      minimum_crl_sequence: 0,
      authority_url: middle.url,
      allow_http: true,
      freshness: { max_age_seconds: 1000 },
      ...options.network,
      decisions: {
        key_file: join(home, isRelay ? 'relay.key' : 'operator.key'),
        ...(isRelay ? { certificate_file: join(home, 'relay.json') } : {}),
        ...options.decisions,
        ...decisions,
      },
    }
    const written = testPolicy({ 'TEST-NET': network, ...options.networks }, [asker, ...(options.clients ?? [])])
    return { ...written, decision_point_url: 'https://gw.example', ...options.policy }
  }
  const { state, settings = {} } = options
  const more = state === undefined ? { settings } : { state, settings }
  const gateway = await startTestGateway({ clock, home, files, policy: await policy(), ...more })
  const setup: DecidingGateway = {
    clock,
    na,
    gateway,
    asker,
    relayCertificate,
    asked: middle.asked,
    change: (answer) => answer,
    ask: (body, more) => gateway.request('POST', '/access/v1/evaluation', { token: asker.token, body, ...more }),
    attest: async (members = {}) => {
      const claims = { capabilities: ['print'] }
      const body = { subject_id: 'agent-7', roles: ['role:client'], validity_hours: 24, claims, ...members }
      return String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
    },
    policy,
    async stop() {
      await gateway.stop()
      await middle.stop()
      await na.stop()
    },
  }
  return setup
}

async function startMiddle(target: string, change: DecidingGateway['change']) {
  const asked: JsonObject[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => void forward(Buffer.concat(chunks).toString('utf8')).catch(() => response.destroy()))
    async function forward(body: string): Promise<void> {
      const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers
      if (body !== '') asked.push(JSON.parse(body) as JsonObject)
      const sent = body === '' ? {} : { body }
      const init = { method: request.method ?? 'POST', headers: headers as Record<string, string>, ...sent }
      const answer = await fetch(`${target}${request.url ?? ''}`, init)
      const changed = change((await answer.json()) as JsonObject)
      if (changed === undefined) response.destroy()
      else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(changed))
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise<void>((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}
