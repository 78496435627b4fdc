import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { signList, writePrivateKeyFile, writePublicKeyFile } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  createTestDatabase,
  createTestNetwork,
  enroll,
  fetchCrl,
  nodeCaller,
  startAuthorityProcess,
  startTestGateway,
  testClient,
  testPolicy,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { AuthorityProcess, Backend, TestGateway, TestNetwork } from '@chancery/testkit'
import { chancery } from '../lib/command.ts'
import type { Random } from '../lib/random.ts'

const REFRESH_SECONDS = 10
/** An interval with its jitter, a fetch, and a busy machine. */
const SEEN_AFTER_MS = REFRESH_SECONDS * 1100 + 3000
const NEW_KEY = 'na-next'

interface Member {
  readonly certificate: JoinCertificate
  /** When its revocation was acknowledged. */
  revokedAt?: number
  /** The gateway has refused it once, so it must refuse it from then on. */
  isKnown?: true
}

interface Rehearsal {
  readonly found: readonly string[]
  readonly facts: JsonObject
}

/** One succession, from pinning to the last check, with the commands of an operator. */
export async function rehearseSuccession(backend: Backend, random: Random): Promise<Rehearsal> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-succession-'))
  const [network, database] = [await createTestNetwork('HEIR-NET'), await createTestDatabase(backend)]
  const marks = { NA_HIGH_WATER_FILES: join(folder, 'mark.json') }
  const load = new Load(network, random)
  let [na, gateway]: [AuthorityProcess | undefined, TestGateway | undefined] = [undefined, undefined]
  try {
    const before = { ...database.settings, ...marks }
    na = await startAuthorityProcess({ network, settings: before })
    load.serve(na)
    await load.change(20)
    await na.as('privileged')('POST', '/admin/policy', { policy_id: 'of-the-old-key' })
    await na.as('privileged')('POST', '/admin/policy', { policy_id: 'of-the-old-key-2' })
    const after = { ...before, ...(await prepare(folder, network)) }
    await chancery(
      { ...network.settings, ...after },
      'authority',
      'rotate-key',
      '--first-list',
      join(folder, 'first.json'),
    )
    gateway = await pinBoth(na.url, network, join(folder, 'first.json'))
    load.verifyWith(gateway)
    await load.change(15)
    const refused = await startAuthorityProcess({ network, settings: after }).then(
      () => 'it started',
      (error: unknown) => String(error),
    )
    if (!refused.includes('key-succession')) load.found.push(`the new key started on the old database: ${refused}`)
    const downAt = performance.now()
    load.serve(undefined)
    await na.stop()
    // The gateways of this campaign are updated by command; no node follows automatically.
    await chancery({ ...network.settings, ...after }, 'authority', 'rotate-key', '--step', 'switch', '--yes')
    // The same address, which the gateways have.
    na = await startAuthorityProcess({ network, settings: { ...after, PORT: new URL(na.url).port } })
    load.serve(na)
    const away_ms = Math.round(performance.now() - downAt)
    await load.change(30)
    await load.settle()
    await checkAuthority(na, network, load)
    await chancery({ ...network.settings, ...after }, 'authority', 'verify').catch((error: unknown) =>
      load.found.push(`verify-db: ${String(error)}`),
    )
    return { found: load.found, facts: { away_ms, ...load.facts() } }
  } finally {
    load.stop()
    await gateway?.stop()
    await na?.stop()
    await database.drop()
    await network.remove()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The root signs block and history; returns the settings of the new key. */
async function prepare(folder: string, network: TestNetwork): Promise<Record<string, string>> {
  const at = (name: string): string => join(folder, name)
  const next = await testSigner(NEW_KEY)
  await writeFile(at('next.key'), writePrivateKeyFile(testSeed(NEW_KEY), NEW_KEY), { mode: 0o600 })
  await writeFile(at('next.pub'), writePublicKeyFile(next.publicKey, NEW_KEY))
  await writeFile(at('root.key'), writePrivateKeyFile(testSeed('root'), 'rs-test'), { mode: 0o600 })
  const words = ['genesis', 'succeed', '--genesis', network.settings['GENESIS_FILE'] ?? '']
  words.push('--na-public-key', at('next.pub'), '--former-key-id', network.authority.keyId)
  words.push('--root-private-key', at('root.key'), '--out', at('genesis-2.json'), '--history-out', at('history.json'))
  await chancery(network.settings, ...words)
  return {
    GENESIS_FILE: at('genesis-2.json'),
    NA_PRIVATE_KEY_FILE: at('next.key'),
    NA_KEY_ID: NEW_KEY,
    NA_KEY_HISTORY_FILE: at('history.json'),
    NA_FORMER_PRIVATE_KEY_FILE: network.settings['NA_PRIVATE_KEY_FILE'] ?? '',
  }
}

const client = testClient('judge', ['HEIR-NET'])

async function pinBoth(url: string, network: TestNetwork, firstList: string): Promise<TestGateway> {
  const old = network.authority
  const list = await fetchCrl(url, old.publicKey)
  const issuer = (keyId: string, publicKey: string, crl: unknown): JsonObject => ({
    anchors: { [keyId]: publicKey },
    crl: crl as JsonObject,
    minimum_crl_sequence: 0,
    crl_url: `${url}/crl/keys/${keyId}`,
    allow_http: true,
    refresh_seconds: REFRESH_SECONDS,
  })
  const next = await testSigner(NEW_KEY)
  const first: unknown = JSON.parse(await readFile(firstList, 'utf8'))
  const entry = {
    ...issuer(old.keyId, old.publicKey, list),
    additional_issuers: { [NEW_KEY]: issuer(NEW_KEY, next.publicKey, first) },
  }
  return startTestGateway({ policy: testPolicy({ 'HEIR-NET': entry }, [client]), state: 'new' })
}

/** Checks the authority afterwards with callers that have only the old key. */
async function checkAuthority(na: AuthorityProcess, network: TestNetwork, load: Load): Promise<void> {
  const next = await testSigner(NEW_KEY)
  const listed = async (target: string, key: string): Promise<Set<string>> => {
    const crl = await fetchCrl(na.url, key, target)
    return new Set(crl.revoked_certificates.map((entry) => entry.certificate_id))
  }
  const [all, former] = [
    await listed('/crl', next.publicKey),
    await listed(`/crl/keys/${network.authority.keyId}`, network.authority.publicKey),
  ]
  for (const { certificate, revokedAt } of load.members) {
    const { cert_id, issued_by } = certificate
    if (all.has(cert_id) !== (revokedAt !== undefined)) load.found.push(`${cert_id} is wrong on the new list`)
    const isFormer = issued_by === network.authority.keyId
    if (former.has(cert_id) !== (revokedAt !== undefined && isFormer))
      load.found.push(`${cert_id} is wrong on the old list`)
  }
  const rollback = await na.as('privileged')('POST', '/admin/policy/rollback', { policy_id: 'of-the-old-key' })
  if (rollback.status !== 200)
    load.found.push(`a policy of the old key is refused: ${rollback.status} ${rollback.text}`)
  const history = await na.request('GET', '/key-history')
  if (!history.text.includes(network.authority.publicKey)) load.found.push('the key history does not name the old key')
}

/** Nodes that join, operators that revoke, and a relying party that verifies all the time. */
class Load {
  readonly members: Member[] = []
  readonly found: string[] = []
  readonly #network: TestNetwork
  readonly #random: Random
  #na: AuthorityProcess | undefined
  #servingSince = 0
  #nodes = 0
  #verified = 0
  #isJudging = false
  #verifying: Promise<void> = Promise.resolve()

  constructor(network: TestNetwork, random: Random) {
    this.#network = network
    this.#random = random
  }

  serve(na: AuthorityProcess | undefined): void {
    this.#na = na
    this.#servingSince = performance.now()
  }

  /** Joins and revocations, about one revocation to two joins. */
  async change(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      if (this.#random.chance(33)) await this.#revoke()
      else await this.#join()
      await pause(this.#random.below(60))
    }
  }

  verifyWith(gateway: TestGateway): void {
    this.#isJudging = true
    this.#verifying = this.#verify(gateway)
  }

  /** All acknowledged revocations must have arrived everywhere by now; then each certificate is verified again. */
  async settle(): Promise<void> {
    await pause(SEEN_AFTER_MS)
    this.#isJudging = false
    await this.#verifying
  }

  stop(): void {
    this.#isJudging = false
  }

  facts(): JsonObject {
    const revoked = this.members.filter(({ revokedAt }) => revokedAt !== undefined).length
    const next = this.members.filter(({ certificate }) => certificate.issued_by === NEW_KEY).length
    return { certificates: this.members.length, of_new_key: next, revoked, verified: this.#verified }
  }

  async #join(): Promise<void> {
    const na = this.#serving()
    const signer = await testSigner('node', `heir-${(this.#nodes += 1)}`)
    const node = nodeCaller(na.url, signer, () => systemClock.now())
    this.members.push({ certificate: await enroll(na, node) })
  }

  async #revoke(): Promise<void> {
    const valid = this.members.filter(({ revokedAt }) => revokedAt === undefined)
    const one = valid[this.#random.below(valid.length)]
    if (one === undefined) return
    const { cert_id } = one.certificate
    const answer = await this.#serving().as('privileged')('POST', '/admin/revoke', { cert_id })
    if (answer.status !== 200) this.found.push(`a revocation was refused: ${answer.status} ${answer.text}`)
    else one.revokedAt = performance.now()
  }

  async #verify(gateway: TestGateway): Promise<void> {
    const forgeries = await this.#forge()
    while (this.#isJudging) {
      const one = this.members[this.#random.below(this.members.length)]
      if (one !== undefined) await this.#ask(gateway, one)
      for (const forged of forgeries)
        if ((await this.#isTrusted(gateway, forged)) !== false) this.found.push('a forgery is trusted')
      await pause(5)
    }
    for (const one of this.members) await this.#ask(gateway, one)
  }

  async #ask(gateway: TestGateway, one: Member): Promise<void> {
    const wasRevokedAt = one.revokedAt
    const askedAt = performance.now()
    const isTrusted = await this.#isTrusted(gateway, one.certificate)
    this.#verified += 1
    const { cert_id, issued_by } = one.certificate
    // While the authority is down, no new revocation can arrive, and the current list is still in force.
    const knowable = Math.max(wasRevokedAt ?? 0, this.#servingSince)
    const isDue = wasRevokedAt !== undefined && this.#na !== undefined && askedAt - knowable > SEEN_AFTER_MS
    const isSeen = isDue || one.isKnown === true
    if (wasRevokedAt !== undefined && isTrusted === false) one.isKnown = true
    if (isSeen && isTrusted !== false) this.found.push(`revoked ${cert_id} of ${issued_by} is accepted`)
    // A revocation that was acknowledged during the request may already count.
    if (one.revokedAt === undefined && isTrusted !== true)
      this.found.push(`valid ${cert_id} of ${issued_by} is refused`)
  }

  async #isTrusted(gateway: TestGateway, certificate: JsonObject): Promise<boolean | undefined> {
    const body = { certificate }
    const answer = await gateway.request('POST', '/verify', { token: client.token, body })
    return answer.status === 200 ? (answer.body['trusted'] as boolean) : undefined
  }

  /** Signed by the old key under the id of the new one, and the other way round; by an unknown key under each id. */
  async #forge(): Promise<readonly JsonObject[]> {
    const [old, next, stranger] = [this.#network.authority, await testSigner(NEW_KEY), await testSigner('stranger')]
    const real = this.members[0]?.certificate
    if (real === undefined) return []
    const make = async (by: Signer, name: string): Promise<JsonObject> => {
      const draft = { ...real, cert_id: `forged-${by.keyId}`, issued_by: name, signatures: [] }
      return signList(draft, { ...by, keyId: name })
    }
    return Promise.all([
      make(old, next.keyId),
      make(next, old.keyId),
      make(stranger, old.keyId),
      make(stranger, next.keyId),
    ])
  }

  #serving(): AuthorityProcess {
    if (this.#na === undefined) throw new Error('no authority serves')
    return this.#na
  }
}
