import { type CheckedAttestation, type StoredAttestation, checkAttestationText } from '@chancery/protocol'
import type { AttestationsParts } from './parts.ts'
import { BatchedRead } from '../../database/batched-read.ts'
import { CachedByText } from '../../database/cached-by-text.ts'
import { type AttestationStateRow, READ_STATES } from './queries/attestation-state.ts'

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
