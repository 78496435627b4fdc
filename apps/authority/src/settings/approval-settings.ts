import { type Reader, SettingError, integer, oneOf, setting } from '@chancery/service-kit'
import { rootsOfFile } from './outbound-settings.ts'

/** Plain http reaches an address that is not public only; that is checked when the address is known. */
const webhookUrl: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isUsable =
    url !== undefined &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    url.hash === ''
  if (!isUsable) throw new SettingError('must be an https URL, or http to a loopback or private address')
  return url.href
}

/** Settings of requests that wait for a person (protocol/approvals). */
export const APPROVAL_SETTINGS = {
  approvalsMaxPending: setting({
    name: 'NA_APPROVALS_MAX_PENDING',
    help: 'Maximum number of open approvals.',
    read: integer({ min: 1, max: 100_000 }),
    default: 1000,
  }),
  approvalsMaxPendingPerAsker: setting({
    name: 'NA_APPROVALS_MAX_PENDING_PER_ASKER',
    help: 'Maximum number of open approvals of one node that asks, and of one subject.',
    read: integer({ min: 1, max: 1000 }),
    default: 20,
  }),
  approvalDenyHoldSeconds: setting({
    name: 'NA_APPROVAL_DENY_HOLD_SECONDS',
    help: 'Seconds after a denial in which the same request opens no approval.',
    read: integer({ min: 0, max: 86_400 }),
    default: 3600,
  }),
  approvalWebhookUrl: setting({
    name: 'NA_APPROVAL_WEBHOOK_URL',
    help: 'Address that is sent each event of an approval, signed. https; http only to a loopback or private address.',
    read: webhookUrl,
    defaultText: 'none',
  }),
  approvalWebhookAddresses: setting({
    name: 'NA_APPROVAL_WEBHOOK_ADDRESSES',
    help: 'Addresses that the webhook may call. private adds private ranges, loopback adds both.',
    read: oneOf('public', 'private', 'loopback'),
    default: 'public',
  }),
  approvalWebhookRoots: setting({
    name: 'NA_APPROVAL_WEBHOOK_CA_FILE',
    help: 'PEM file with root certificates for the TLS of the webhook, in addition to those of the system.',
    read: rootsOfFile,
    default: [],
    defaultText: 'roots of the system',
  }),
} as const
