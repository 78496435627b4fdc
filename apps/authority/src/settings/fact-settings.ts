import { type Reader, SettingError, setting } from '@chancery/service-kit'
import { rootsOfFile } from './partner-settings.ts'
import { splitList } from './readers.ts'

const MAX_ORIGINS = 64

const origins: Reader<readonly string[]> = (value) => {
  const entries = splitList(value)
  const isOrigin = (text: string): boolean =>
    URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text
  if (entries.length > MAX_ORIGINS || !entries.every(isOrigin))
    throw new SettingError('must be a comma list of origins such as https://opa.example:8181')
  return entries
}

/** Settings of gates that ask other systems (protocol/trust-operations 5.13). */
export const FACT_SETTINGS = {
  factOrigins: setting({
    name: 'NA_FACT_ORIGINS',
    help: 'Comma list of the origins that external_fact.v1 gates may ask.',
    read: origins,
    default: [],
    defaultText: 'none',
  }),
  factRoots: setting({
    name: 'NA_FACT_CA_FILE',
    help: 'PEM file with root certificates for the TLS of these origins, in addition to those of the system.',
    read: rootsOfFile,
    default: [],
    defaultText: 'roots of the system',
  }),
} as const
