import {
  checkListAdvance,
  evaluateCertificate,
  hours,
  isAuthenticList,
  listProblems,
  markOfList,
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
  KnownRevocation,
  ListMark,
  ListProblem,
  NetworkTrust,
  RevocationList,
  Verdict,
} from '@chancery/protocol'
import { RequestError } from '../errors.ts'
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

export type InstallRefusal = AdvanceRefusal | ListProblem | 'unknown_issuer' | 'not_authentic'

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
    for (const each of [pins, ...Object.values(pins.additional_issuers ?? {})]) await party.#add(each)
    return party
  }

  /**
   * Takes a newer list into force. It must be authentic, still in its time, and a step forward: never a lower sequence,
   * never two contents under one number. Refused lists change nothing.
   */
  async install(value: JsonValue | RevocationList, now: Instant): Promise<Verdict<InstallRefusal>> {
    const list = readRevocationList(value)
    const standing = this.#issuers.get(list.issuer)
    if (standing === undefined) return { ok: false, reason: 'unknown_issuer' }
    if (!(await isAuthenticList(list, standing.anchors))) return { ok: false, reason: 'not_authentic' }
    const mark = markOfList(list)
    const [problem] = listProblems(mark, standing.floor, standing.freshness, now)
    if (problem !== undefined) return { ok: false, reason: problem }
    const advance = checkListAdvance(standing.mark, mark)
    if (!advance.ok) return advance
    take(standing, list, mark)
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

  /** Judges one certificate at one instant (protocol/gateway 8). Never throws on what somebody presents. */
  async evaluate(certificate: JoinCertificate, now: Instant): Promise<TrustVerdict> {
    const network = certificate.network_name
    const known = network === this.#pins.network ? this.#trust() : undefined
    const judgement = await evaluateCertificate(certificate, known, now)
    return toVerdict(toTrustDecision(judgement, { network, policyRevision: this.#pins.revision ?? null, now }))
  }

  async #add({ anchors: texts, crl, minimum_crl_sequence: floor = 0, freshness = {} }: IssuerPins): Promise<void> {
    const anchors = new Map<string, Uint8Array>()
    for (const [id, text] of Object.entries(texts)) {
      const key = readTrustedPublicKey(text)
      if (key === undefined) throw new RequestError(`the anchor ${id} is no strong Ed25519 public key in base64`)
      anchors.set(id, key)
    }
    const list = readRevocationList(crl)
    if (this.#issuers.has(list.issuer)) throw new RequestError(`the issuer ${list.issuer} is given twice`)
    if (!(await isAuthenticList(list, anchors)))
      throw new RequestError(`the list of ${list.issuer} is not signed by its pinned key`)
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

/** Of entries with one id the first wins; what is not listed any more is kept as withdrawn. */
function take(standing: Standing, list: RevocationList, mark: ListMark): void {
  for (const [id, known] of standing.revocations) standing.revocations.set(id, { ...known, withdrawn: true })
  const listed = new Set<string>()
  for (const { certificate_id: id, reason, revoked_at } of list.revoked_certificates) {
    if (listed.has(id)) continue
    listed.add(id)
    standing.revocations.set(id, { reason, revoked_at, withdrawn: false })
  }
  standing.mark = mark
}
