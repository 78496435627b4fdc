import { randomUUID } from 'node:crypto'
import { draftRevocationFeed, hours, type JsonObject, type Signer, signList, writeInstant } from '@chancery/protocol'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { measureAgainstLimit, type NodeWork } from '../lib/node-bench.ts'
import { type BenchOperator, operatorOf } from '../lib/operator.ts'
import { evaluateRows } from '../lib/raw-inserts.ts'
import { openAuthority } from '../lib/servers.ts'
import { type BenchNode, makeNodes, proof, seedCertificates } from '../lib/test-nodes.ts'
import { newSigner } from '../lib/trust-records.ts'

const BAR = 0.45
const PATH = '/boundary/request'
const NODES = 200
const CERTIFICATES = 100_000
const SETTINGS = { NA_NODE_DECISIONS: 'partners' }
const PARTNER = 'BENCH-PARTNER'

/** Two authority processes on one database, every response after its durable audit event. */
export const nodeDecisions: Measurement = {
  says: `POST ${PATH} of ${NODES} nodes on their attestations, and of as many members of a partner, against the limit formula (${BAR})`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { network, database, server, processes } = await openAuthority(options, { processes: 2, settings: SETTINGS })
  const nodes = makeNodes(NODES)
  await seedCertificates(database.url, nodes, CERTIFICATES)
  const operator = await operatorOf(network, server.port)
  const asked = { action: 'boundary-request', audience: network.audience, requested_capability: 'ledger.read' }
  const context = { request_parameters: { amount: 5, currency: 'EUR' } }
  const work = (questions: readonly Question[]): NodeWork => {
    let at = 0
    return {
      path: PATH,
      bodies: async (count) =>
        Array.from({ length: count }, () => {
          const question = questions[(at += 1) % questions.length]
          return question === undefined ? '' : proof({ ...asked, context, ...question.basis }, question.node)
        }),
      database,
      processes,
      statement: evaluateRows(),
      batch: 50,
      // Node, attestation and the two signatures, which are verified before the response.
      verifications: 4,
      signatures: 2,
      perSecond: 3000,
    }
  }
  const own = await measureAgainstLimit(work(await attestNodes(nodes, operator)), options)
  const presented = await measureAgainstLimit(work(await presentMembers(operator)), options)
  return { bar: BAR, nodes: NODES, certificates: CERTIFICATES, ...own, members_of_partner: presented }
}

/** What a node sends, besides the capability and the context. */
interface Question {
  readonly node: BenchNode
  readonly basis: JsonObject
}

const MEMBER = { roles: ['role:client'], claims: { capabilities: ['ledger.read'] } }

async function attestNodes(nodes: readonly BenchNode[], operator: BenchOperator): Promise<readonly Question[]> {
  const questions: Question[] = []
  for (const node of nodes) {
    const body = { ...MEMBER, subject_id: `agent-${questions.length}`, subject_public_key: node.publicKey }
    const { attestation_id = null } = await operator.post('/admin/attestations', body)
    questions.push({ node, basis: { attestation_id, cert_id: node.certId } })
  }
  return questions
}

/** Members of a partner with a treaty and a recent feed. They have no certificate here. */
async function presentMembers(operator: BenchOperator): Promise<readonly Question[]> {
  const partner = await newSigner('na-partner')
  await operator.post('/admin/recognition-treaties', {
    subject_sovereign_id: PARTNER,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: MEMBER.roles, claims: { capabilities: ['ledger.*'] } },
  })
  const feed = draftRevocationFeed({
    feed_id: randomUUID(),
    issuer_sovereign_id: PARTNER,
    sequence: 1,
    issued_at: timeAt(0),
    issued_by: partner.keyId,
    reasons: new Map(),
  })
  await operator.post('/admin/sovereign-revocation-feeds/import', { feed: await signList(feed, partner) })
  return Promise.all(makeNodes(NODES).map((node) => presentMember(node, partner)))
}

async function presentMember(node: BenchNode, partner: Signer): Promise<Question> {
  const draft = {
    attestation_id: randomUUID(),
    issuer_sovereign_id: PARTNER,
    subject_id: node.publicKey,
    subject_public_key: node.publicKey,
    ...MEMBER,
    status: 'active',
    issued_at: timeAt(0),
    valid_from: timeAt(0),
    expires_at: timeAt(24),
    issued_by: partner.keyId,
    signatures: [],
  }
  const attestation = await signList(draft, partner)
  return { node, basis: { presented: { attestation, issuer_sovereign_id: PARTNER } } }
}

function timeAt(inHours: number): string {
  return writeInstant(BigInt(Date.now()) * 1000n + hours(inHours))
}
