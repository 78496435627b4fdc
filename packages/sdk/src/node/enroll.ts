import { isJsonObject, member, readJson, sha256Hex, writeInstant, writeJson } from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject } from '@chancery/protocol'
import type { NodeAreas } from './areas.ts'
import { ChanceryError, RefusedError, UsageError, ResponseError } from '../errors.ts'
import { type Expected, requireOwnOrFollow } from './certificate.ts'
import type { FollowedKeys, NodeStore } from './followed.ts'
import { type PlatformEvidence, freshEvidence } from './evidence.ts'
import type { RetryOptions } from '../http/retry.ts'

/**
 * The authority issued a certificate for this invite, but it was not stored: an earlier run ended between request and
 * write. The invite is used up, and the protocol returns no certificate a second time. An operator helps in one of two
 * ways: with another invite, or by naming the certificate to give as `lostCertificate`.
 */
export class JoinInterruptedError extends ChanceryError {
  override readonly name: string = 'JoinInterruptedError'
  readonly kind = 'join_interrupted'
  /** As the roster of the operator shows it with the certificate. */
  readonly nodePublicKey: string
  /** As the audit event certificate_issued of the authority shows it with the certificate. */
  readonly inviteFingerprint: string
  readonly askedAt: string

  constructor(nodePublicKey: string, note: JoinNote, options: ErrorOptions) {
    super(
      `This invite was used at ${note.asked_at} by a run that ended before it stored its certificate. Ask an operator ` +
        `for a new invite, or for the id of the certificate of the node key ${nodePublicKey} (in the roster, or in the ` +
        `audit event certificate_issued with invite_token_fingerprint ${note.invite_token_fingerprint}) and join with it ` +
        `as lostCertificate.`,
      options,
    )
    this.nodePublicKey = nodePublicKey
    this.inviteFingerprint = note.invite_token_fingerprint
    this.askedAt = note.asked_at
  }
}

/** Stored before an invite is used, so that a later run has its result. */
type JoinNote = {
  readonly invite_token_fingerprint: string
  readonly asked_at: string
  /** `asked`: the result is unknown. `settled`: refused, or the certificate is stored. */
  readonly state: 'asked' | 'settled'
}

export interface Enrolling {
  readonly client: NodeAreas
  readonly store: NodeStore
  readonly followed: FollowedKeys
  readonly expected: () => Expected
  readonly clock: () => Instant
  readonly invite?: string | (() => Promise<string>)
  readonly platform?: PlatformEvidence
  readonly lostCertificate?: string
  readonly validityHours?: number
  readonly pause: (ms: number) => Promise<void>
  /** False: a proxy is asked once. */
  readonly retry?: RetryOptions | false
}

/** Gets a certificate for a node that has none, and keeps it. */
export async function enroll(parts: Enrolling): Promise<JoinCertificate> {
  const { invite, platform, lostCertificate } = parts
  if (lostCertificate !== undefined) return useStoredCertificate(parts, lostCertificate)
  if (platform !== undefined) return joinByEvidence(parts, platform)
  if (invite === undefined)
    throw new UsageError('the store holds no usable certificate, and there is no invite or evidence to join with')
  return join(parts, typeof invite === 'string' ? invite : await invite())
}

/** Evidence may be asked for again, so a join whose answer was lost needs no note. */
async function joinByEvidence(parts: Enrolling, evidence: PlatformEvidence): Promise<JoinCertificate> {
  const { client, followed, expected, validityHours } = parts
  const validity = validityHours === undefined ? {} : { validity_hours: validityHours }
  const fresh = await freshEvidence(evidence, followed.audience, expected().publicKey)
  const certificate = await throughProxy(
    parts,
    () => client.enrollment.join({ evidence: fresh, ...validity }),
    () => undefined,
  )
  await save(parts, certificate)
  return certificate
}

async function join(parts: Enrolling, invite_token: string): Promise<JoinCertificate> {
  const { client, store, clock, expected, validityHours } = parts
  // As the authority's audit names it.
  const invite_token_fingerprint = sha256Hex(invite_token).slice(0, 16)
  const earlier = readNote(await store.read('join'))
  const isKnown = earlier?.invite_token_fingerprint === invite_token_fingerprint && earlier.state === 'asked'
  let isRepeated = isKnown
  const note: JoinNote = isKnown
    ? earlier
    : { invite_token_fingerprint, asked_at: writeInstant(clock()), state: 'asked' }
  const finish = (): Promise<void> => store.write('join', writeJson({ ...note, state: 'settled' }))
  if (!isKnown) await store.write('join', writeJson(note))
  const validity = validityHours === undefined ? {} : { validity_hours: validityHours }
  let certificate: JoinCertificate
  try {
    certificate = await throughProxy(
      parts,
      () => client.enrollment.join({ invite_token, ...validity }),
      () => {
        isRepeated = true
      },
    )
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error
    if (isRepeated && error.code === 'invalid_invite_token')
      throw new JoinInterruptedError(expected().publicKey, note, { cause: error })
    // An invite that was refused at once was never used here; the next refusal of it needs no other explanation.
    if (!isRepeated && error.status < 500 && !error.outcomeUncertain) await finish()
    throw error
  }
  await save(parts, certificate)
  // Last: when this write is lost, the certificate is stored, and the note has no effect.
  await finish()
  return certificate
}

const PROXY_PAUSES_MS = [1000, 2000, 4000, 8000]
const FROM_PROXY: ReadonlySet<number> = new Set([502, 503, 504])

/**
 * A proxy without a ready instance answers itself, not as an authority. Whether it passed the join on is unknown: the
 * next refusal of the invite then says that it may have been used.
 */
async function throughProxy(
  { pause, retry }: Enrolling,
  ask: () => Promise<JoinCertificate>,
  onRepeat: () => void,
): Promise<JoinCertificate> {
  for (const ms of retry === false ? [] : PROXY_PAUSES_MS) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ResponseError) || !FROM_PROXY.has(error.status)) throw error
      onRepeat()
      await pause(ms)
    }
  }
  return ask()
}

/** The holder of the key may renew a certificate it never saw: a proof of the key is all a renewal asks for. */
async function useStoredCertificate(parts: Enrolling, cert_id: string): Promise<JoinCertificate> {
  const validity = parts.validityHours === undefined ? {} : { validity_hours: parts.validityHours }
  const { followed, expected, platform } = parts
  const fresh =
    platform === undefined ? {} : { evidence: await freshEvidence(platform, followed.audience, expected().publicKey) }
  const certificate = await parts.client.enrollment.renew({ cert_id, ...validity, ...fresh })
  await save(parts, certificate)
  return certificate
}

async function save({ client, store, followed, expected }: Enrolling, certificate: JoinCertificate): Promise<void> {
  await requireOwnOrFollow(certificate, { client, followed, expected })
  await store.write('certificate', writeJson(certificate))
}

/** A damaged note is as good as none: it only explains a refusal. */
function readNote(text: string | undefined): JoinNote | undefined {
  if (text === undefined) return undefined
  let value: JsonObject
  try {
    const read = readJson(text)
    if (!isJsonObject(read)) return undefined
    value = read
  } catch {
    return undefined
  }
  const [fingerprint, asked_at] = [member(value, 'invite_token_fingerprint'), member(value, 'asked_at')]
  if (typeof fingerprint !== 'string' || typeof asked_at !== 'string') return undefined
  const state = member(value, 'state') === 'asked' ? 'asked' : 'settled'
  return { invite_token_fingerprint: fingerprint, asked_at, state }
}
