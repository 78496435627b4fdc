import { readFileSync } from 'node:fs'
import { type Reader, SettingError, integer, onOff, oneOf, setting } from '@chancery/service-kit'
import { secondsOrOff, splitList } from './readers.ts'

const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Root certificates of a PEM file. */
export const rootsOfFile: Reader<readonly string[]> = (path) => {
  try {
    const roots = readFileSync(path, 'utf8').match(BLOCK)
    if (roots !== null) return roots
  } catch {
    // Reported below, without the path.
  }
  throw new SettingError('must be a readable PEM file with certificates')
}

/** Settings of partners, whose published material is read (protocol/partners 3). */
const PARTNER_SETTINGS = {
  partners: setting({
    name: 'NA_PARTNERS',
    help: 'off: there are no partners, and nothing is read from other authorities.',
    read: onOff,
    default: true,
    defaultText: 'on',
  }),
  partnersMax: setting({
    name: 'NA_PARTNERS_MAX',
    help: 'Maximum number of partners.',
    read: integer({ min: 1, max: 10_000 }),
    default: 1000,
  }),
  partnerAddresses: setting({
    name: 'NA_PARTNER_ADDRESSES',
    help: 'Addresses of partners that may be called. private adds private ranges, loopback adds both.',
    read: oneOf('public', 'private', 'loopback'),
    default: 'public',
  }),
  partnerContactMaxAgeSeconds: setting({
    name: 'NA_PARTNER_CONTACT_MAX_AGE_SECONDS',
    help: 'Maximum time since the last successful contact with a partner in decisions on its members, in seconds, longer than the interval of its pulls; 0: a longer silence is only a finding.',
    read: secondsOrOff(60, 2_592_000),
    default: 0,
  }),
  partnerRoots: setting({
    name: 'NA_PARTNER_CA_FILE',
    help: 'PEM file with root certificates for the TLS of partners, in addition to those of the system.',
    read: rootsOfFile,
    default: [],
    defaultText: 'roots of the system',
  }),
} as const

const MAX_ORIGINS = 64

const origins: Reader<readonly string[]> = (value) => {
  const entries = splitList(value)
  const isOrigin = (text: string): boolean =>
    URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text
  if (entries.length > MAX_ORIGINS || !entries.every(isOrigin))
    throw new SettingError('must be a comma list of origins such as https://opa.example:8181')
  return entries
}

/** Settings of gates that ask other systems (protocol/trust-operations 5.13), and the roots for them and for witnesses. */
const FACT_SETTINGS = {
  factOrigins: setting({
    name: 'NA_FACT_ORIGINS',
    help: 'Comma list of the origins that external_fact.v1 gates may ask.',
    read: origins,
    default: [],
    defaultText: 'none',
  }),
  extraRoots: setting({
    name: 'NA_CA_FILE',
    help: 'PEM file with root certificates for the TLS of these origins and of witnesses, in addition to those of the system.',
    read: rootsOfFile,
    default: [],
    defaultText: 'roots of the system',
  }),
} as const

/** Settings of admission rules whose keys are read from an address (protocol/admission 5). */
const ADMISSION_SETTINGS = {
  admissionAddresses: setting({
    name: 'NA_ADMISSION_ADDRESSES',
    help: 'Addresses of issuers whose keys may be read. private adds private ranges, loopback adds both.',
    read: oneOf('public', 'private', 'loopback'),
    default: 'public',
  }),
  admissionRoots: setting({
    name: 'NA_ADMISSION_CA_FILE',
    help: 'PEM file with root certificates for the TLS of issuers, in addition to those of the system.',
    read: rootsOfFile,
    default: [],
    defaultText: 'roots of the system',
  }),
} as const

/** Settings of everything that calls others. */
export const OUTBOUND_SETTINGS = { ...PARTNER_SETTINGS, ...ADMISSION_SETTINGS, ...FACT_SETTINGS } as const
