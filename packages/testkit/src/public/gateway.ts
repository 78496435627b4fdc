import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JsonObject, writePrivateKeyFile } from '@chancery/protocol'
import type { AuthorityClient } from '@chancery/sdk/authority'
import type { ManualClock } from '../clock.ts'
import { testClient, testPolicy } from '../gateway-records.ts'
import { testSeed } from '../keys.ts'
import { startTestGateway } from '../start-gateway.ts'
import { type Front, openFront } from './front.ts'

/** A network that a gateway trusts. */
export interface GatewaySource {
  readonly url: string
  readonly name: string
  readonly genesis: { readonly network_authority: { readonly public_key: string } }
  readonly operator: AuthorityClient
}

export interface PublicGatewayOptions {
  /** Further networks that it trusts. */
  readonly networks?: readonly GatewaySource[]
  /** A certificate needs all of them. */
  readonly roles?: readonly string[]
  /** Answers AuthZEN questions; `subjects` names the attestation of a subject such as `user:alice`. */
  readonly authzen?: { readonly subjects?: Readonly<Record<string, string>> }
  readonly refreshSeconds?: number
}

export interface PublicGateway extends AsyncDisposable {
  readonly url: string
  /** Bearer token of a client that may use its networks. */
  readonly token: string
  /** It answers nothing until resume(): connections are refused. */
  pause(): Promise<void>
  resume(): Promise<void>
  stop(): Promise<void>
}

type Own = GatewaySource & { readonly clock: ManualClock | undefined; readonly seed: string }

export async function startGateway(own: Own, options: PublicGatewayOptions): Promise<PublicGateway> {
  const { networks = [], authzen } = options
  const sources = [own, ...networks]
  const entries: Record<string, JsonObject> = {}
  for (const source of sources) entries[source.name] = await entryOf(source, options)
  const client = testClient('test', Object.keys(entries), { decisions: authzen !== undefined })
  const home = await mkdtemp(join(tmpdir(), 'chancery-test-gateway-'))
  const files: Record<string, string> = {}
  if (authzen !== undefined) {
    // The other operator of a test authority, with its tier.
    files['decisions.key'] = writePrivateKeyFile(testSeed(`${own.seed}op-standard`), 'op-standard')
    const decisions = { key_file: join(home, 'decisions.key'), subjects: { ...authzen.subjects } }
    entries[own.name] = { ...entries[own.name], decisions }
  }
  const policy = testPolicy(entries, [client])
  const gateway = await startTestGateway({
    home,
    files,
    policy: authzen === undefined ? policy : { ...policy, decision_point_url: 'https://gateway.example' },
    ...(own.clock === undefined ? {} : { clock: own.clock }),
  })
  const front: Front = await openFront(gateway.url)
  let isRunning = true
  const stop = async (): Promise<void> => {
    if (!isRunning) return
    isRunning = false
    await front.stop()
    await gateway.stop()
  }
  return {
    url: front.url,
    token: client.token,
    pause: () => front.pause(),
    resume: () => front.resume(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function entryOf(
  { url, genesis, operator }: GatewaySource,
  { roles = [], refreshSeconds = 10 }: PublicGatewayOptions,
): Promise<JsonObject> {
  const list = await operator.crl.current()
  return {
    anchors: { [list.issuer]: genesis.network_authority.public_key },
    crl: { ...list },
    minimum_crl_sequence: 0,
    authority_url: url,
    crl_url: `${url}/crl`,
    allow_http: true,
    refresh_seconds: refreshSeconds,
    ...(roles.length === 0 ? {} : { required_roles: [...roles] }),
  }
}
