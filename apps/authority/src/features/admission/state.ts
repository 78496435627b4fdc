import type { KeySets } from './key-sets.ts'
import type { AdmissionParts } from './parts.ts'

export interface AdmissionState extends AdmissionParts {
  readonly keySets: KeySets
}
