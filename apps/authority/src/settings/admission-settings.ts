import { oneOf, setting } from '@chancery/service-kit'
import { rootsOfFile } from './partner-settings.ts'

/** Settings of admission rules whose keys are read from an address (protocol/admission 5). */
export const ADMISSION_SETTINGS = {
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
