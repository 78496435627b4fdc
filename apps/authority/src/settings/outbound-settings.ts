import { ADMISSION_SETTINGS } from './admission-settings.ts'
import { FACT_SETTINGS } from './fact-settings.ts'
import { PARTNER_SETTINGS } from './partner-settings.ts'

/** Settings of everything that calls others. */
export const OUTBOUND_SETTINGS = { ...PARTNER_SETTINGS, ...ADMISSION_SETTINGS, ...FACT_SETTINGS } as const
