import {
  FormError,
  checkListAdvance,
  evaluateCertificate,
  hours,
  isAuthenticList,
  listProblems,
  markOfList,
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
  Judgement,
  KnownRevocation,
  ListMark,
  ListProblem,
  NetworkTrust,
  RevocationList,
  RevokedEntry,
  Verdict,
} from '@chancery/protocol'
import { RequestError } from '../errors.ts'
import { momentOf } from '../moment.ts'
import { toVerdict } from '../gateway/verdict.ts'
import type { TrustVerdict } from '../gateway/verdict.ts'

/** One authority whose certificates are judged. The names are those of a gateway's policy file (protocol/gateway 3.4). */
export interface IssuerPins {
  /** Key id to public key, pinned. */
  readonly anchors: Readonly<Record<string, string>>
  /** A signed list to begin with; a later one replaces it through {@link RelyingParty.install}. */
  readonly crl: RevocationList
  /** No list below this number is relied upon. 0 when not given. */
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

export type InstallRefusal = AdvanceRefusal | ListProblem | 'malformed' | 'unknown_issuer' | 'not_authentic'

const DEFAULTS = { maxAge: 604_800, clockSkew: 30, certificateSkew: 300 } as const

interface Standing {
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly floor: number
  readonly freshness: Freshness
  mark: ListMark
  /** Every revocation ever seen of this issuer: what a later list leaves out stays refused (protocol/gateway 9.3). */
  readonly revocations: Map<string, KnownRevocation>
}

/**
 * Judges certificates as a gateway does, from pinned keys and signed lists alone. Nobody is asked; keeping the list
 * current is for the caller, and a list at its end stops granting trust by itself.
 */
export class RelyingParty {
  readonly #pins: NetworkPins
  readonly #issuers = new Map<string, Standing>()

  private constructor(pins: NetworkPins) {
    this.#pins = pins
  }

  /** Throws RequestError when the pins do not hold together: a wrong key or a list nobody signed. */
  static async open(pins: NetworkPins): Promise<RelyingParty> {
    const party = new RelyingParty(pins)
    for (const each of [pins, ...Object.values(pins.additional_issuers ?? {})]) await party.pin(each)
    return party
  }

  /**
   * Takes a newer list into force. It must be authentic, still in its time, and a step forward: never a lower sequence,
   * never two contents under one number. Refused lists change nothing. A list of many megabytes is best
   * given as `client.crl.scanned()` reads it: no entry of it becomes an object.
   */
  async install(value: JsonValue | RevocationList | OfferedList, now?: Instant): Promise<Verdict<InstallRefusal>> {
    const moment = momentOf(now)
    const offered = toOffered(value)
    if (offered === undefined) return { ok: false, reason: 'malformed' }
    const standing = this.#issuers.get(offered.issuer)
    if (standing === undefined) return { ok: false, reason: 'unknown_issuer' }
    if (!(await offered.isAuthentic(standing.anchors))) return { ok: false, reason: 'not_authentic' }
    const { mark } = offered
    const [problem] = listProblems(mark, standing.floor, standing.freshness, moment)
    if (problem !== undefined) return { ok: false, reason: problem }
    const advance = checkListAdvance(standing.mark, mark, moment)
    if (!advance.ok) return advance
    take(standing, offered, mark)
    return { ok: true }
  }

  /** The sequence in force for an issuer. */
  sequenceOf(issuer: string = this.#pins.crl.issuer): number | undefined {
    return this.#issuers.get(issuer)?.mark.sequence
  }

  /** Until when the list in force may be relied upon. */
  nextUpdateOf(issuer: string = this.#pins.crl.issuer): Instant | undefined {
    return this.#issuers.get(issuer)?.mark.nextUpdate
  }

  /**
   * Judges one certificate at one instant, by the clock when none is given (protocol/gateway 8). Never throws on what
   * somebody presents; throws RequestError on a time of another unit.
   */
  async evaluate(presented: JoinCertificate, now?: Instant): Promise<TrustVerdict> {
    const moment = momentOf(now)
    const certificate = readOr((value) => presentedCertificate(value, ''), presented)
    const network = certificate?.network_name ?? ''
    const known = network === this.#pins.network ? this.#trust() : undefined
    const judgement = certificate === undefined ? MALFORMED : await evaluateCertificate(certificate, known, moment)
    return toVerdict(toTrustDecision(judgement, { network, policyRevision: this.#pins.revision ?? null, now: moment }))
  }

  /** Judges certificates of one more issuer from now on, such as the next key of the authority: see FollowedParty. */
  async pin({ anchors: texts, crl, minimum_crl_sequence: floor = 0, freshness = {} }: IssuerPins): Promise<void> {
    const anchors = new Map<string, Uint8Array>()
    for (const [id, text] of Object.entries(texts)) {
      const key = readTrustedPublicKey(text)
      if (key === undefined) throw new RequestError(`the anchor ${id} is no strong public key`)
      anchors.set(id, key)
    }
    const list = readRevocationList(crl)
    if (this.#issuers.has(list.issuer)) throw new RequestError(`the issuer ${list.issuer} is given twice`)
    if (!(await isAuthenticList(list, anchors)))
      throw new RequestError(`the list of ${list.issuer} is not signed by its key`)
    const standing: Standing = {
      anchors,
      floor,
      freshness: {
        maxAge: seconds(freshness.max_age_seconds ?? DEFAULTS.maxAge),
        clockSkew: seconds(freshness.clock_skew_seconds ?? DEFAULTS.clockSkew),
      },
      mark: markOfList(list),
      revocations: new Map(),
    }
    take(standing, list, standing.mark)
    this.#issuers.set(list.issuer, standing)
  }

  #trust(): NetworkTrust {
    const pins = this.#pins
    const issuers = new Map<string, IssuerTrust>()
    for (const [issuer, { anchors, floor, freshness, mark, revocations }] of this.#issuers)
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

/** What has not the form of its record has been made by a stranger, and is no reason to stop. */
function readOr<Value>(read: (value: JsonValue) => Value, given: unknown): Value | undefined {
  try {
    return read(given as JsonValue)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

const MALFORMED: Judgement = {
  findings: [{ code: 'malformed_certificate', cause: 'encoding' }],
  issuer: undefined,
  expiresAt: undefined,
}

export type Listed = Pick<RevokedEntry, 'certificate_id' | 'reason' | 'revoked_at'>

/** A list in either form, as {@link RelyingParty.install} judges it. */
export interface OfferedList {
  readonly issuer: string
  isAuthentic(anchors: ReadonlyMap<string, Uint8Array>): Promise<boolean>
  readonly mark: ListMark
  readonly revoked_certificates: Iterable<Listed>
}

/** What came as JSON has no functions: nobody can send a list that says of itself that it is authentic. */
function toOffered(value: unknown): OfferedList | undefined {
  if (typeof (value as OfferedList | null)?.isAuthentic === 'function') return value as OfferedList
  const list = readOr(readRevocationList, value)
  return list && { ...list, mark: markOfList(list), isAuthentic: (anchors) => isAuthenticList(list, anchors) }
}

/** Of entries with one id the first wins; what is not listed any more is kept as withdrawn. */
function take(standing: Standing, list: Pick<OfferedList, 'revoked_certificates'>, mark: ListMark): void {
  for (const [id, known] of standing.revocations) standing.revocations.set(id, { ...known, withdrawn: true })
  const listed = new Set<string>()
  for (const { certificate_id: id, reason, revoked_at } of list.revoked_certificates) {
    if (listed.has(id)) continue
    listed.add(id)
    standing.revocations.set(id, { reason, revoked_at, withdrawn: false })
  }
  standing.mark = mark
}
