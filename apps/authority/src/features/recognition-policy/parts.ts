import type { Core } from '../../core.ts'

export interface RecognitionPolicyParts extends Pick<Core, 'audit' | 'clock' | 'database' | 'versions'> {}
