import { randomUUID } from 'node:crypto'
import { DAY, HOUR, signList, writeInstant } from '@chancery/protocol'
import type { Attestation, GenesisBlock, JoinCertificate, Signer } from '@chancery/protocol'
import { MemoryNodeStore, type NetworkNode, joinNetwork } from '@chancery/sdk'
import { type AuthorityClient, type InviteRequest, createAuthorityClient } from '@chancery/sdk/authority'
import type { ManualClock } from '../clock.ts'
import { testSigner } from '../keys.ts'
import { startTestAuthority } from '../start-authority.ts'
import { openFront } from './front.ts'
import { type PublicGateway, type PublicGatewayOptions, startGateway } from './gateway.ts'

export interface TestNetworkOptions {
  /** Name of the network; TEST-NET when not given. */
  readonly name?: string
  /** Same seed, same keys. Random when not given, so that two networks never share a key. */
  readonly seed?: string
  /** Settings of the authority, by their names in docs/operate/configure.md. */
  readonly settings?: Readonly<Record<string, string>>
  /** Time of the authority, of its gateways and nodes; the system clock when not given. */
  readonly clock?: ManualClock
}

export interface RunningTestNetwork extends AsyncDisposable {
  /** Address of the authority. */
  readonly url: string
  readonly name: string
  readonly genesis: GenesisBlock
  /** A client that signs with a key of tier privileged. */
  readonly operator: AuthorityClient & { readonly signer: Signer }
  /** Returns the token of a new invite. */
  invite(request?: InviteRequest): Promise<string>
  /** A joined node. With capabilities it has an attestation for them, which its questions and requests use. */
  node(options?: {
    readonly capabilities?: readonly string[]
    readonly roles?: readonly string[]
  }): Promise<NetworkNode>
  attest(publicKey: string, capabilities: readonly string[]): Promise<Attestation>
  /** A certificate of a new key. An expired one is signed by the key of the authority, which does not know it. */
  certificate(options?: { readonly roles?: readonly string[]; readonly expired?: boolean }): Promise<JoinCertificate>
  revoke(node: Pick<NetworkNode, 'certificate'> | JoinCertificate): Promise<void>
  /** Publishes a boundary policy and activates it. */
  publishPolicy(policy: { readonly policy_id: string; readonly [name: string]: unknown }): Promise<void>
  /** Starts a gateway that trusts this network and the given ones, each under its name. */
  gateway(options?: PublicGatewayOptions): Promise<PublicGateway>
  /** The authority answers nothing until resume(): connections are refused. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Stops its gateways and nodes, then the authority, and deletes the database and the keys. */
  stop(): Promise<void>
}

/** Nodes may ask for decisions, and what they do leaves evidence. */
const SETTINGS = { EVIDENCE_STORE: 'on', NA_NODE_DECISIONS: 'partners', NA_DECISION_RELAY_ROLES: 'role:relay' }

/**
 * Starts a real authority in this process: HTTP on a free port of 127.0.0.1, SQLite in a temporary folder, new keys,
 * high rate limits. No two networks share a key, also those of one name.
 */
export async function startTestNetwork(options: TestNetworkOptions = {}): Promise<RunningTestNetwork> {
  const { name = 'TEST-NET', seed = randomUUID(), settings, clock } = options
  const authority = await startTestAuthority({
    backend: 'sqlite',
    network: name,
    keys: seed,
    settings: { ...SETTINGS, ...settings },
    ...(clock === undefined ? {} : { clock }),
  })
  const front = await openFront(authority.url)
  const { genesis, signers } = authority
  const { url } = front
  const signer = signers['privileged']
  if (signer === undefined) throw new Error('the test authority has no privileged operator')
  const timed = clock === undefined ? {} : { clock: () => clock.now() }
  const audience = genesis.network_authority.public_key
  const client = createAuthorityClient({ url, operator: { signer, audience }, ...timed })
  const operator = { ...client, signer }
  const now = (): bigint => clock?.now() ?? BigInt(Date.now()) * 1000n
  const running = new Set<{ stop(): Promise<void> }>()
  const invite = async (request: InviteRequest = {}): Promise<string> =>
    (await operator.enrollment.invite(request)).token_id
  const attest = (publicKey: string, capabilities: readonly string[]): Promise<Attestation> =>
    operator.attestations.issue({
      subject_id: `node-${publicKey.slice(0, 8)}`,
      subject_public_key: publicKey,
      roles: ['role:client'],
      claims: { capabilities: [...capabilities] },
    })
  const stop = async (): Promise<void> => {
    await Promise.all([...running].map((each) => each.stop()))
    await front.stop()
    await authority.stop()
  }
  return {
    url,
    name,
    genesis,
    operator,
    invite,
    attest,
    async node({ capabilities, roles = ['role:client'] } = {}) {
      const key = await testSigner('node', randomUUID())
      const attestation = capabilities === undefined ? undefined : await attest(key.publicKey, capabilities)
      const node = await joinNetwork({
        url,
        genesis,
        store: new MemoryNodeStore(key),
        invite: () => invite({ roles: [...roles] }),
        ...timed,
        ...(attestation === undefined ? {} : { attestation }),
      })
      running.add(node)
      return node
    },
    async certificate({ roles = ['role:client'], expired = false } = {}) {
      const key = await testSigner('node', randomUUID())
      if (!expired) {
        const member = createAuthorityClient({ url, node: { signer: key, audience }, ...timed })
        return member.enrollment.join({ invite_token: await invite({ roles: [...roles] }) })
      }
      const draft = {
        cert_id: randomUUID(),
        node_public_key: key.publicKey,
        network_name: name,
        roles: [...roles],
        issued_at: writeInstant(now() - 2n * DAY),
        expires_at: writeInstant(now() - HOUR),
        issued_by: 'na-test',
        signatures: [],
      }
      return signList(draft, await testSigner('na-test', `${seed}na`))
    },
    async revoke(given) {
      const { cert_id } = 'certificate' in given ? given.certificate : given
      await operator.crl.revoke({ cert_ids: [cert_id], reason: 'key_compromise' })
    },
    async publishPolicy(policy) {
      const { policy_id, version } = await operator.boundaryPolicies.publish(policy as never)
      await operator.boundaryPolicies.activate(policy_id, { version })
    },
    async gateway(more = {}) {
      const gateway = await startGateway({ url, name, genesis, operator, clock, seed }, more)
      running.add(gateway)
      return gateway
    },
    pause: () => front.pause(),
    resume: () => front.resume(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
