import { integer, oneOf, setting } from '@chancery/service-kit'

/** Settings of heartbeats. */
export const HEARTBEAT_SETTINGS = {
  heartbeatSeconds: setting({
    name: 'NA_HEARTBEAT_SECONDS',
    help: 'Heartbeat interval for nodes, in seconds.',
    read: integer({ min: 10, max: 900 }),
    default: 60,
  }),
  heartbeatMode: setting({
    name: 'NA_HEARTBEAT_MODE',
    help: 'gathered: for large fleets. Heartbeats are stored once a second, and their signed time is the protection against replays.',
    read: oneOf('strict', 'gathered'),
    default: 'strict',
  }),
} as const
