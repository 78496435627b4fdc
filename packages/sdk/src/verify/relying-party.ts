import {
  FormError,
  checkListAdvance,
  evaluateCertificate,
  hours,
  isAuthenticList,
  listProblems,
  positionOfList,
  presentedCertificate,
  readRevocationList,
  readTrustedPublicKey,
  seconds,
  toTrustDecision,
} from '@chancery/protocol'
import type {
  AdvanceRefusal,
  Freshness,
  Instant,
  IssuerTrust,
  JoinCertificate,
  JsonValue,
  CertificateResult,
  RevocationState,
  ListPosition,
  ListProblem,
  NetworkTrust,
  RevocationList,
  RevokedEntry,
} from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { type Time, timeOf } from '../trust/signing-time.ts'
import { type CertificateVerdict, toVerdict } from '../trust/certificate-verdict.ts'

/** One trusted authority. The names are those of a gateway's policy file (protocol/gateway 3.4). */
export interface IssuerPins {
  /** Key id to public key, pinned. */
  readonly anchors: Readonly<Record<string, string>>
  /** The first signed list, in either form; {@link RelyingParty.install} replaces it with a later one. */
  readonly crl: RevocationList | OfferedList
  /** Lists with a lower sequence are refused. 0 when not given. */
  readonly minimum_crl_sequence?: number
  readonly freshness?: { readonly max_age_seconds?: number; readonly clock_skew_seconds?: number }
}

export interface NetworkPins extends IssuerPins {
  /** As certificates name it. */
  readonly network: string
  readonly required_roles?: readonly string[]
  readonly certificate_skew_seconds?: number
  readonly max_certificate_lifetime_hours?: number
  readonly additional_issuers?: Readonly<Record<string, IssuerPins>>
  /** Shown in decisions. */
  readonly revision?: string
}

export type InstallVerdict = { readonly valid: true } | { readonly valid: false; readonly reason: InstallRefusal }

export type InstallRefusal = AdvanceRefusal | ListProblem | 'malformed' | 'unknown_issuer' | 'not_authentic'

const DEFAULTS = { maxAge: 604_800, clockSkew: 30, certificateSkew: 300 } as const

interface IssuerState {
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly floor: number
  readonly freshness: Freshness
  position: ListPosition
  /**
   * Every revocation of this issuer that was ever installed: a later list without it does not remove it
   * (protocol/gateway 9.3).
   */
  revocations: ReadonlyMap<string, RevocationState>
}

/**
 * Verifies certificates like a gateway, from pinned keys and signed lists only, without network calls. The caller keeps
 * the list current; an expired list grants no trust.
 */
export class RelyingParty {
  /** Without the list, which is no longer needed and may be large. */
  readonly #pins: Omit<NetworkPins, 'crl'>
  readonly #first: string
  readonly #issuers = new Map<string, IssuerState>()

  private constructor({ crl, ...pins }: NetworkPins) {
    this.#pins = pins
    this.#first = crl.issuer
  }

  /** Throws UsageError when the pins do not match: a wrong key or a list without a valid signature. */
  static async open(pins: NetworkPins): Promise<RelyingParty> {
    const party = new RelyingParty(pins)
    for (const each of [pins, ...Object.values(pins.additional_issuers ?? {})]) await party.pin(each)
    return party
  }

  /**
   * Installs a newer list. It must be authentic, current, and not older: never a lower sequence,
   * never other entries with the same sequence. Refused lists change nothing. Pass a list of many megabytes
   * as `client.crl.scanned()` reads it: no entry becomes an object.
   */
  async install(value: JsonValue | RevocationList | OfferedList, now?: Instant): Promise<InstallVerdict> {
    const time = timeOf(now)
    const offered = readOr(toOffered, value)
    if (offered === undefined) return { valid: false, reason: 'malformed' }
    const state = this.#issuers.get(offered.issuer)
    if (state === undefined) return { valid: false, reason: 'unknown_issuer' }
    if (!(await offered.isAuthentic(state.anchors))) return { valid: false, reason: 'not_authentic' }
    const { position: mark } = offered
    const [problem] = listProblems(mark, state.floor, state.freshness, time)
    if (problem !== undefined) return { valid: false, reason: problem }
    const advance = checkListAdvance(state.position, mark, time)
    if (!advance.ok) return { valid: false, reason: advance.reason }
    // With the same sequence the entries are equal.
    if (mark.sequence !== state.position.sequence) state.revocations = merge(offered, state.revocations)
    state.position = mark
    return { valid: true }
  }

  /** Returns the current sequence of an issuer. */
  sequenceOf(issuer: string = this.#first): number | undefined {
    return this.#issuers.get(issuer)?.position.sequence
  }

  /** Returns the end of validity of the current list. */
  nextUpdateOf(issuer: string = this.#first): Instant | undefined {
    return this.#issuers.get(issuer)?.position.nextUpdate
  }

  /**
   * Verifies one certificate at one instant, by the clock when none is given (protocol/gateway 8). Never throws on the
   * presented certificate; throws UsageError on a time of another unit.
   */
  async evaluate(presented: JoinCertificate, at?: Time): Promise<CertificateVerdict> {
    const time = timeOf(at)
    const certificate = readOr((value) => presentedCertificate(value, ''), presented)
    const network = certificate?.network_name ?? ''
    const known = network === this.#pins.network ? this.#trust() : undefined
    const result = certificate === undefined ? MALFORMED : await evaluateCertificate(certificate, known, time)
    const facts = { network, policyRevision: this.#pins.revision ?? null, now: time }
    return toVerdict(toTrustDecision(result, facts), certificate)
  }

  /** Adds a trusted issuer, such as the next key of the authority: see FollowedParty. */
  async pin({ anchors: texts, crl, minimum_crl_sequence: floor = 0, freshness = {} }: IssuerPins): Promise<void> {
    const anchors = new Map<string, Uint8Array>()
    for (const [id, text] of Object.entries(texts)) {
      const key = readTrustedPublicKey(text)
      if (key === undefined) throw new UsageError(`the anchor ${id} is no strong public key`)
      anchors.set(id, key)
    }
    const list = toOffered(crl)
    if (this.#issuers.has(list.issuer)) throw new UsageError(`the issuer ${list.issuer} is given twice`)
    if (!(await list.isAuthentic(anchors))) throw new UsageError(`the list of ${list.issuer} is not signed by its key`)
    this.#issuers.set(list.issuer, {
      anchors,
      floor,
      freshness: {
        maxAge: seconds(freshness.max_age_seconds ?? DEFAULTS.maxAge),
        clockSkew: seconds(freshness.clock_skew_seconds ?? DEFAULTS.clockSkew),
      },
      position: list.position,
      revocations: merge(list, new Map()),
    })
  }

  #trust(): NetworkTrust {
    const pins = this.#pins
    const issuers = new Map<string, IssuerTrust>()
    for (const [issuer, { anchors, floor, freshness, position: mark, revocations }] of this.#issuers)
      issuers.set(issuer, {
        issuer,
        anchors,
        list: mark,
        floor,
        freshness,
        revocations: { find: (id) => revocations.get(id) },
      })
    return {
      name: pins.network,
      issuers,
      requiredRoles: pins.required_roles ?? [],
      certificateSkew: seconds(pins.certificate_skew_seconds ?? DEFAULTS.certificateSkew),
      maxLifetime:
        pins.max_certificate_lifetime_hours === undefined ? undefined : hours(pins.max_certificate_lifetime_hours),
    }
  }
}

/** Returns undefined for a malformed record: untrusted input must not throw. */
function readOr<Value>(read: (value: JsonValue) => Value, given: unknown): Value | undefined {
  try {
    return read(given as JsonValue)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

const MALFORMED: CertificateResult = {
  findings: [{ code: 'malformed_certificate', cause: 'encoding' }],
  issuer: undefined,
  expiresAt: undefined,
}

export type Listed = Pick<RevokedEntry, 'certificate_id' | 'reason' | 'revoked_at'>

/** A list in either form, for {@link RelyingParty.install}. */
export interface OfferedList {
  readonly issuer: string
  isAuthentic(anchors: ReadonlyMap<string, Uint8Array>): Promise<boolean>
  readonly position: ListPosition
  readonly revoked_certificates: Iterable<Listed>
}

/** JSON has no functions, so a received list cannot declare itself authentic. */
function toOffered(value: unknown): OfferedList {
  if (typeof (value as OfferedList | null)?.isAuthentic === 'function') return value as OfferedList
  const list = readRevocationList(value as JsonValue)
  return { ...list, position: positionOfList(list), isAuthentic: (anchors) => isAuthenticList(list, anchors) }
}

/** The first entry of an id wins; entries missing in the new list stay as withdrawn. */
function merge(list: OfferedList, before: IssuerState['revocations']): IssuerState['revocations'] {
  const revocations = new Map<string, RevocationState>()
  for (const { certificate_id: id, reason, revoked_at } of list.revoked_certificates)
    if (!revocations.has(id)) revocations.set(id, { reason, revoked_at, withdrawn: false })
  for (const [id, known] of before) if (!revocations.has(id)) revocations.set(id, { ...known, withdrawn: true })
  return revocations
}
