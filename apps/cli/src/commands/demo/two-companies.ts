import { readFile } from 'node:fs/promises'
import { type IncomingMessage, createServer } from 'node:http'
import { HOUR, instantOf, readAttestation, readJson, writeJson } from '@chancery/protocol'
import type { Attestation, Instant } from '@chancery/protocol'
import { type NetworkNode, createAuthorizer, joinNetwork, trustNetworks } from '@chancery/sdk'
import { createAuthorityClient, type Client } from '@chancery/sdk/authority'
import { FileNodeStore, authorize } from '@chancery/sdk/nodejs'
import { FOR_ALL, replaceFile } from '../../files/files.ts'
import type { DemoKeys } from './demo-folder.ts'

export const BANK = 'DEMO-BANK'
export const FREIGHT = 'DEMO-FREIGHT'
/** What each path of the service needs. The agent may read the accounts only. */
const CAPABILITIES = { '/accounts': 'ledger.read', '/payments': 'payments.read' } as const
const ACCOUNTS = '{"accounts":[{"id":"freight-1","balance":1250}]}'
const MAX_HEADER_BYTES = 24_576
const PULL_SECONDS = 60

/** One of the two networks. */
export interface Company {
  readonly network: string
  readonly url: string
  readonly keys: DemoKeys
  /** Configuration file of its operator. */
  readonly config: string
}

function operatorOf({ url, keys }: Company): Client {
  return createAuthorityClient({ url, operator: { signer: keys.operator, audience: keys.authority.publicKey } })
}

/** A node with one role. It sends heartbeats and renews its certificate until it is stopped. */
export async function joinCompany(company: Company, folder: string, role: string): Promise<NetworkNode> {
  const operator = operatorOf(company)
  const invite = async (): Promise<string> => (await operator.enrollment.invite({ roles: [role] })).token_id
  const genesis = await operator.sovereign.genesis()
  const node = await joinNetwork({ url: company.url, genesis, store: new FileNodeStore(folder), invite })
  void node.run()
  return node
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
export async function loadAttestation(
  file: string,
  freight: Company,
  agent: NetworkNode,
  now: Instant,
): Promise<Attestation> {
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
  relay: NetworkNode,
  freight: Company,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<DemoService> {
  const genesis = await createAuthorityClient({ url: freight.url }).sovereign.genesis()
  const trust = await trustNetworks([{ url: freight.url, genesis }])
  const url = `http://${host}:${port}`
  const authorizer = createAuthorizer({ audience: url, trust, decisions: relay, tellCaller: true })
  const requirement = { capability: (request: IncomingMessage) => capabilityOf(request.url) }
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES },
    authorize(authorizer, requirement, (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(ACCOUNTS)
    }),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    url,
    close: async () => {
      await trust.close()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
