import { checkAttestationText } from '@chancery/protocol'
import type { CheckedAttestation, StoredAttestation } from '@chancery/protocol'
import { Batcher, endOfLoopTurn } from '@chancery/service-kit'
import type { AttestationsParts } from './parts.ts'
import { CachedByText } from '../../database/cached-by-text.ts'
import { readAttestationStates } from './queries/attestation-state.ts'
import type { AttestationStateRow } from './queries/attestation-state.ts'

/** Texts whose signature was checked, at most so many characters of them: about as many bytes. */
const MAX_CACHED_CHARACTERS = 8_000_000

/** A stored attestation and what its text alone says. */
export interface AttestationState {
  readonly stored: StoredAttestation
  readonly checked: CheckedAttestation
}

/**
 * What decisions rest on. The row and its withdrawals are read for every question, and those that wait share one
 * statement; what follows from the text alone is kept for equal texts: an edited row has another text, and is checked.
 */
export class AttestationReader {
  readonly #parts: Pick<AttestationsParts, 'database' | 'ownKeys' | 'log'>
  readonly #reads: Batcher<string, AttestationStateRow | undefined>
  readonly #checked = new CachedByText<CheckedAttestation>(MAX_CACHED_CHARACTERS)

  constructor(parts: Pick<AttestationsParts, 'database' | 'ownKeys' | 'log'>) {
    this.#parts = parts
    this.#reads = new Batcher(
      async (ids) => {
        const rows = await readAttestationStates(parts.database, [...new Set(ids)])
        const byId = new Map(rows.map((row) => [row.attestation_id, row]))
        return ids.map((id) => byId.get(id))
      },
      { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn },
    )
  }

  /** An attestation this authority issued, with everything that could have withdrawn it; undefined when there is none. */
  async find(attestation_id: string): Promise<AttestationState | undefined> {
    const row = await this.#reads.add(attestation_id)
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
    const checked = await checkAttestationText(text, this.#parts.ownKeys.all)
    // The caller learns that the attestation is invalid; that the row was edited is for the operator.
    if (!checked.isSigned)
      this.#parts.log.error('a stored attestation does not verify', { alarm: true, attestation_id })
    this.#checked.keep(text, checked)
    return checked
  }
}
