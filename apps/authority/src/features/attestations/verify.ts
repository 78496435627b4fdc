import { Refusal } from '@chancery/contract'
import { checkAttestationText, readAttestation, readRecognitionPolicy, verifyAttestation } from '@chancery/protocol'
import type { Attestation, CheckedAttestation, JsonObject, StoredAttestation } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { readOrRefuse, respondVerdict } from '../../requests/read-fields.ts'
import { type RevocationFeeds, isImportedRevocation } from '../revocation-feeds/index.ts'
import { type ReadyPolicy, type RecognitionPolicy, prepare } from '../recognition-policy/index.ts'
import { type AttestationStateRow, READ_STATES, isOwnAttestationRevoked } from './queries.ts'
import type { FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import { BatchedRead, CachedByText } from '../../database/batched-read.ts'

export interface AttestationsParts extends FeatureBase {
  readonly settings: Pick<AuthoritySettings, 'allowedRoles' | 'publicAttestationList'>
  readonly connectome: Connectome
  readonly recognitionPolicy: RecognitionPolicy
  readonly recognitionTreaties: RecognitionTreaties
  readonly revocationFeeds: RevocationFeeds
}

/**
 * POST /attestations/verify
 * Verifies an attestation under a recognition policy: the caller's, or the active one. Writes nothing.
 */
export async function verify(call: Call, parts: AttestationsParts): Promise<JsonObject> {
  const attestation = readOrRefuse('invalid_attestation_or_policy', () =>
    readAttestation(call.body['attestation'] ?? null),
  )
  const { policy, revokedIds } = await choosePolicy(call.body, parts)
  const { issuer_sovereign_id, attestation_id } = attestation
  const issuer = policy.recognized_issuers.find((each) => each.sovereign_id === issuer_sovereign_id)
  const isRevoked = revokedIds.has(attestation_id) || (await isRevokedByIssuer(parts, attestation))
  const verdict = await verifyAttestation(attestation, { issuer, isRevoked, now: parts.clock.now() })
  return { ...respondVerdict(call, parts, verdict, 'accepted'), issuer_sovereign_id, attestation_id }
}

async function choosePolicy(body: JsonObject, parts: AttestationsParts): Promise<ReadyPolicy> {
  const given = body['recognition_policy']
  if (given !== undefined)
    return prepare(readOrRefuse('invalid_attestation_or_policy', () => readRecognitionPolicy(given)))
  const active = await parts.recognitionPolicy.current()
  if (active === undefined) throw new Refusal('missing_recognition_policy')
  return active
}

/** Returns whether the issuer revoked it: from own rows for an own attestation, otherwise from an imported feed. */
export async function isRevokedByIssuer(parts: AttestationsParts, attestation: Attestation): Promise<boolean> {
  const db = parts.database.read
  if (
    attestation.issuer_sovereign_id === parts.network.name &&
    (await isOwnAttestationRevoked(db, attestation.attestation_id))
  )
    return true
  return isImportedRevocation(db, attestation.issuer_sovereign_id, attestation.attestation_id)
}

/** Maximum size, in characters, of the cache of verified texts. */
const MAX_CACHED_CHARACTERS = 8_000_000

/** A stored attestation and the facts that follow from its text alone. */
export interface AttestationState {
  readonly stored: StoredAttestation
  readonly checked: CheckedAttestation
}

/**
 * Reads attestations for decisions. Row and revocations are read for every decision; queued reads share one statement.
 * The result of verifying a text is cached by that text, so an edited row is verified again.
 */
export class AttestationReader {
  readonly #parts: Pick<AttestationsParts, 'database' | 'keys' | 'log'>
  readonly #reads: BatchedRead<AttestationStateRow>
  readonly #checked = new CachedByText<CheckedAttestation>(MAX_CACHED_CHARACTERS)

  constructor(parts: Pick<AttestationsParts, 'database' | 'keys' | 'log'>) {
    this.#parts = parts
    this.#reads = new BatchedRead(
      (ids) => parts.database.run(READ_STATES, ids),
      (row) => row.attestation_id,
    )
  }

  /** Returns an attestation of this authority with its revocations, or undefined. */
  async find(attestation_id: string): Promise<AttestationState | undefined> {
    const row = await this.#reads.find(attestation_id)
    if (row === undefined) return undefined
    const { attestation_json, issuer_sovereign_id, status, revoked_at } = row
    const isRevoked = revoked_at !== null || status === 'revoked' || Number(row.listed) > 0
    const revocationSequence = Number(row.sequence ?? 0)
    return {
      stored: { attestation_json, issuer_sovereign_id, status, isRevoked, revocationSequence },
      checked: await this.#check(attestation_id, attestation_json),
    }
  }

  close(): Promise<void> {
    return this.#reads.close()
  }

  async #check(attestation_id: string, text: string): Promise<CheckedAttestation> {
    const known = this.#checked.find(text)
    if (known !== undefined) return known
    const checked = await checkAttestationText(text, this.#parts.keys.all)
    // The caller learns only that the attestation is invalid. The operator is warned of the edited row.
    if (!checked.isSigned)
      this.#parts.log.error('a stored attestation does not verify', { alarm: true, attestation_id })
    this.#checked.keep(text, checked)
    return checked
  }
}
