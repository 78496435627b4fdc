import { readFileSync } from 'node:fs'
import { type Reader, SettingError, integer, onOff, oneOf, setting } from '@chancery/service-kit'
import { secondsOrOff } from './readers.ts'

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
export const PARTNER_SETTINGS = {
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
