import { execFile } from 'node:child_process'
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type JsonObject, readJson, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, type NodeCaller, nodeCaller, testSigner } from '@chancery/testkit'
import { post, type RawResponse } from './raw-requests.ts'
import type { AuthoritySetup } from './setup.ts'

/** Another system that a policy asks. It never answers callers whose name begins with `silent`. */
export interface FactServer {
  readonly origin: string
  /** The most questions of one caller that were open at the same time. */
  mostOpen(caller: string): number
  stop(): Promise<void>
}

export async function openFactServer(): Promise<FactServer> {
  const [open, most] = [new Map<string, number>(), new Map<string, number>()]
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { input } = readJson(body) as unknown as { readonly input: { readonly caller: string } }
      const { caller } = input
      if (!caller.startsWith('silent')) return void response.end('{"result":true}')
      const now = (open.get(caller) ?? 0) + 1
      open.set(caller, now)
      most.set(caller, Math.max(now, most.get(caller) ?? 0))
      response.on('close', () => open.set(caller, (open.get(caller) ?? 0) - 1))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mostOpen: (caller) => most.get(caller) ?? 0,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A SPIFFE trust domain with an RSA root, which signs one workload again and again. */
export interface SvidIssuer {
  readonly rule: JsonObject & { readonly rule_id: string }
  readonly key: KeyObject
  /** A certificate chain, base64, signed as these arguments of openssl say. */
  issue(how: readonly string[]): Promise<readonly string[]>
  remove(): Promise<void>
}

const DOMAIN = 'hostile.example'
const ID = `spiffe://${DOMAIN}/api`
const EXTENSIONS = `basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nsubjectAltName=URI:${ID}\n`

export async function openSvidIssuer(): Promise<SvidIssuer> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-hostile-svid-'))
  const openssl = (...words: readonly string[]) => promisify(execFile)('openssl', words, { cwd: folder })
  const der = async (name: string): Promise<string> =>
    new X509Certificate(await readFile(join(folder, name))).raw.toString('base64')
  await writeFile(join(folder, 'leaf.ext'), EXTENSIONS)
  const root = ['-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', '-subj', '/O=SPIFFE/CN=root']
  const usage = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign']
  await openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...root, ...usage)
  const leaf = ['-keyout', 'leaf.key', '-out', 'leaf.csr', '-subj', '/O=SPIFFE/CN=leaf']
  await openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', ...leaf)
  let issued = 0
  return {
    rule: {
      rule_id: 'workloads',
      kind: 'spiffe_x509',
      trust_domain: DOMAIN,
      required_claims: { sub: [ID] },
      keys: { keys: [{ use: 'x509-svid', kty: 'RSA', x5c: [await der('ca.pem')] }] },
    },
    key: createPrivateKey(await readFile(join(folder, 'leaf.key'))),
    async issue(how) {
      issued += 1
      const out = `leaf-${issued}.pem`
      // Serials are random, so that cases can be signed at the same time.
      const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-extfile', 'leaf.ext', '-days', '1']
      await openssl('x509', '-req', '-in', 'leaf.csr', ...signer, '-out', out, ...how)
      const chain = [await der(out)]
      await rm(join(folder, out))
      return chain
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

const SCHEMA = `entity Member; entity Secret;
action "secret.rotate" appliesTo { principal: Member, resource: Secret, context: {
  request_parameters: { id: String, s?: String },
} };`
/** Long patterns that nearly fit: a comparison takes the product of both lengths. */
export const SLOW_RULES: string = Array.from(
  { length: 25 },
  (_, n) => `@id("p${n}") forbid(principal, action, resource) when {
    context.request_parameters has s && context.request_parameters.s like "*${'a'.repeat(2000)}b${n}" };`,
).join('\n')
const VALIDITY = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2090-01-01T00:00:00Z' }
/** What the Cedar policy of the setup decides. */
export const CEDAR_CAPABILITY = 'secret.rotate'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A policy that asks Cedar. */
export function cedarIntent(
  policy_id: string,
  rules = '@id("ok") permit(principal, action, resource);',
): JsonObject & { readonly policy_id: string } {
  const config = {
    policy_set_digest: sha256(rules),
    schema_digest: sha256(SCHEMA),
    principal: { type: 'Member', id: 'requester_sovereign_id' },
    action: { type: 'Action', id: 'requested_capability' },
    resource: { type: 'Secret', id: 'request_parameters.id' },
    context: ['request_parameters'],
  }
  const gates = [{ gate_id: 'g', gate_type: 'cedar.v1', order: 0, config }]
  return { policy_id, ...VALIDITY, selector: { capabilities: [CEDAR_CAPABILITY] }, gates, texts: [rules, SCHEMA] }
}

/** What a policy decides that asks another system. */
export const FACT_CAPABILITY = 'credit.read'

/** A policy that asks the other system about the parameter `caller`. */
export function factIntent(origin: string): JsonObject & { readonly policy_id: string } {
  const fact = (name: string): JsonObject => ({ fact: `request_parameters.${name}` })
  const question = { input: { caller: fact('caller'), n: fact('n') } }
  const config = { origin, path: '/v1/credit', question, answer: { path: 'result' }, time_limit_ms: 700 }
  const gates = [{ gate_id: 'credit', gate_type: 'external_fact.v1', order: 0, config }]
  return { policy_id: 'credits', ...VALIDITY, selector: { capabilities: [FACT_CAPABILITY] }, gates }
}

/** A policy without Cedar, for `ledger.read` unless another capability is given. */
export function amountIntent(
  policy_id: string,
  capability = 'ledger.read',
): JsonObject & { readonly policy_id: string } {
  const config = { path: 'request_parameters.amount', max: 1000 }
  const gates = [{ gate_id: 'limit', gate_type: 'max_value.v1', order: 0, config }]
  return { policy_id, ...VALIDITY, selector: { capabilities: [capability] }, gates }
}

let nodes = 0

interface JoinedNode {
  readonly node: NodeCaller
  readonly certId: string
}

/** Creates a new node for each case. The inviting operator has another address. */
export async function joined(
  setup: Pick<AuthoritySetup, 'backend' | 'url' | 'authority'>,
  from: string,
): Promise<JoinedNode> {
  nodes += 1
  const node = nodeCaller(setup.url, await testSigner(`hostile-${setup.backend}-${process.pid}-${nodes}`), () =>
    systemClock.now(),
  )
  const operator = setup.authority.as('privileged')
  const token = accepted(await operator('POST', '/admin/invite', {}, { from }), 201)['token_id'] as string
  const certificate = accepted(await node.join(token, {}, { from }), 201)
  return { node, certId: certificate['cert_id'] as string }
}

/** A node that may ask for decisions about itself. A policy covers `ledger.read` up to an amount of 1000. */
interface Member extends JoinedNode {
  readonly attestationId: string
  readonly ask: (capability: string, parameters?: JsonObject, certId?: string) => Promise<RawResponse>
}

export async function member(setup: AuthoritySetup, from: string): Promise<Member> {
  const { node, certId } = await joined(setup, from)
  const { url, network } = setup
  const body = {
    subject_id: 'member',
    roles: ['role:client'],
    subject_public_key: node.key,
    claims: { capabilities: ['ledger.read', 'vault.open', FACT_CAPABILITY] },
  }
  const issued = await setup.authority.as('privileged')('POST', '/admin/attestations', body, { from })
  const attestationId = accepted(issued, 201)['attestation_id'] as string
  const named = { action: 'boundary-request', audience: network.authority.publicKey, attestation_id: attestationId }
  return {
    node,
    certId,
    attestationId,
    ask: async (requested_capability, parameters = {}, cert_id = certId) => {
      const context = { request_parameters: { amount: 5, ...parameters } }
      const asked = await node.prove({ ...named, cert_id, requested_capability, context })
      return post({ url, from }, { path: '/boundary/request', body: writeJson(asked) })
    },
  }
}

/** The members of a response; none when it is no JSON object. */
export function membersOf({ text }: Pick<RawResponse, 'text'>): JsonObject {
  try {
    return readJson(text) as JsonObject
  } catch {
    return {}
  }
}

export function isAllowed(answer: RawResponse): boolean {
  const decision = membersOf(answer)['decision'] as JsonObject | undefined
  return answer.status === 201 && decision?.['authorized'] === true
}

export function isOk({ status }: RawResponse): boolean {
  return status >= 200 && status < 300
}
