import type { Feature } from '../../core.ts'
import { AttestationReader } from './attestation-state.ts'
import type { AttestationsParts } from './parts.ts'
import { attestationRoutes } from './routes.ts'

export { listRevokedAttestations, markAttestationRevoked } from './queries/attestations.ts'

export interface Attestations extends Feature {
  /** Reads attestations for decisions, each time again. */
  readonly reader: AttestationReader
}

export function openAttestations(parts: AttestationsParts): Attestations {
  const reader = new AttestationReader(parts)
  return { routes: attestationRoutes(parts), jobs: [], reader, close: () => reader.close() }
}
