import { setting } from '@chancery/service-kit'
import { trueFalse } from './readers.ts'

/** What authorities get to know about callers (protocol/gateway 12.3 and 12.7). */
export const UPSTREAM_SETTINGS = {
  forwardTraceparent: setting({
    name: 'GATEWAY_FORWARD_TRACEPARENT',
    help: 'true: the authorities get the traceparent header of the caller, so that their audit names the same trace. Authorities of partners get it, too.',
    read: trueFalse,
    default: false,
    defaultText: 'false',
  }),
  nameCallers: setting({
    name: 'GATEWAY_NAME_CALLERS',
    help: 'true: an authority of a network with decisions gets a signed digest for each caller, so that its limits count them and not this gateway. It must list the key in NA_TRUSTED_GATEWAY_KEYS.',
    read: trueFalse,
    default: false,
    defaultText: 'false',
  }),
} as const
