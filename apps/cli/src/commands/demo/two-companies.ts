import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { HOUR, instantOf, readAttestation, readJson, writeJson } from '@chancery/protocol'
import type { Attestation, Instant } from '@chancery/protocol'
import { type Client, FollowedParty, Node, callerBasis, createClient } from '@chancery/sdk'
import { FileNodeStore, httpNodeProof } from '@chancery/sdk/nodejs'
import { FOR_ALL, replaceFile } from '../../files/files.ts'
import type { DemoKeys } from './demo-folder.ts'

export const BANK = 'DEMO-BANK'
export const FREIGHT = 'DEMO-FREIGHT'
/** What each path of the service needs. The agent may read the accounts only. */
const CAPABILITIES = { '/accounts': 'ledger.read', '/payments': 'payments.read' } as const
const ACCOUNTS = '{"accounts":[{"id":"freight-1","balance":1250}]}'
const MAX_HEADER_BYTES = 24_576
const PULL_SECONDS = 60
const REFRESH_MS = 30_000

/** One of the two networks. */
export interface Company {
  readonly network: string
  readonly url: string
  readonly keys: DemoKeys
  /** Configuration file of its operator. */
  readonly config: string
}

function operatorOf({ url, keys }: Company): Client {
  return createClient({ url, operator: { signer: keys.operator, audience: keys.authority.publicKey } })
}

/** A node with one role. It sends heartbeats and renews its certificate until it is stopped. */
export async function joinCompany(company: Company, folder: string, role: string): Promise<Node> {
  const operator = operatorOf(company)
  const invite = async (): Promise<string> => (await operator.enrollment.invite({ roles: [role] })).token_id
  const genesis = await operator.sovereign.genesis()
  return Node.join({ url: company.url, genesis, store: new FileNodeStore(folder), invite })
}

/** Treaty and partner at the bank; the first pull. */
export async function connectCompanies(bank: Company, freight: Company): Promise<void> {
  const operator = operatorOf(bank)
  await operator.recognitionTreaties.issue({
    subject_sovereign_id: freight.network,
    subject_public_keys: [freight.keys.authority.publicKey],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
    validity_hours: 8760,
  })
  await operator.partners.add({
    url: freight.url,
    root_public_key: freight.keys.root.publicKey,
    import_feeds: 'on',
    interval_seconds: PULL_SECONDS,
    allow_http: true,
  })
  // The authority may pull at this moment itself.
  await operator.partners.pull(freight.network).catch(() => undefined)
}

/** An attestation with less time left is issued again at the start. */
const ATTESTATION_LEFT = 48n * HOUR

/** Returns the stored attestation of the agent, or issues it at home. A revoked one is returned, and stays revoked. */
export async function loadAttestation(file: string, freight: Company, agent: Node, now: Instant): Promise<Attestation> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const stored = text === undefined ? undefined : readAttestation(readJson(text))
  if (stored !== undefined && instantOf(stored.expires_at) - now > ATTESTATION_LEFT) return stored
  const attestation = await operatorOf(freight).attestations.issue({
    subject_id: 'dispatch-agent',
    subject_public_key: agent.publicKey,
    roles: ['role:client'],
    validity_hours: 720,
    claims: { capabilities: [CAPABILITIES['/accounts']] },
  })
  await replaceFile(file, `${writeJson(attestation)}\n`, FOR_ALL)
  return attestation
}

export interface DemoService {
  readonly url: string
  close(): Promise<void>
}

function capabilityOf(path = ''): string {
  return path === '/payments' ? CAPABILITIES['/payments'] : CAPABILITIES['/accounts']
}

/** The accounts of the bank: a caller proves its key, and the authority of the bank decides. */
export async function startService(
  relay: Node,
  freight: Company,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<DemoService> {
  const client = createClient({ url: freight.url })
  const trust = await FollowedParty.open({ client, genesis: await client.sovereign.genesis() })
  const refresh = setInterval(() => void trust.refresh().catch(() => undefined), REFRESH_MS)
  const url = `http://${host}:${port}`
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES },
    httpNodeProof({ audience: url, trust }, async (request, response) => {
      const send = (status: number, text: string): void => {
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(text)
      }
      try {
        const { decision } = await relay.ask(capabilityOf(request.url), callerBasis(request.node))
        if (decision.authorized) send(200, ACCOUNTS)
        else send(403, writeJson({ denied: decision.denial_reason }))
      } catch {
        send(503, '{"error":"no decision"}')
      }
    }),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    url,
    close: () => {
      clearInterval(refresh)
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
