import { shape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { count, flag, listOf, orNull, text, textOrNull, texts, whole, wholeOrNull } from '../members.ts'
import { type Routes, routes } from '../route.ts'
import { connectomeSummary } from './connectome.ts'

const { integer, nullable, open, optional, required, withDefault } = shape

/** Rows for display; their members may change. */
const rows = listOf(shape.object, 10_000_000)
const decided = required(open({ authorized: whole, denied: whole }))
const counts = listOf(nullable(count), 1440)

const facts = {
  home: {
    id: 'GET /',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Dashboard page at the root',
    purpose: 'Shows the same page as /dashboard.',
  },
  page: {
    id: 'GET /dashboard',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Dashboard page',
    purpose: 'Shows the state of the network to a human reader.',
  },
  view: {
    id: 'GET /dashboard.json',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'json',
    summary: 'Dashboard summary',
    purpose: 'Gives the content of the dashboard without subject ids, keys or addresses.',
    /** What the authority does not report is null. */
    answer: open({
      sovereign: required(open({ id: text, version: text })),
      readiness: required(open({ status: text, backend: text })),
      signing_key: orNull({ key_id: text, valid_to: text, days_left: whole }),
      nodes: required(open({ active: whole, tracked: whole })),
      certificates: orNull({ issued: whole, revoked: whole, expiring: wholeOrNull }),
      /** Null before the first list was signed. */
      revocation_list: orNull({
        sequence: whole,
        entries: whole,
        issued_at: text,
        issued_at_display: text,
        next_update: text,
        next_update_display: text,
        age_minutes: required(integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
        overdue: flag,
      }),
      connectome_summary: required(connectomeSummary),
      treaty_summary: required(
        open({
          total: whole,
          active: whole,
          expiring_soon: whole,
          expired: whole,
          revoked: whole,
          replaced: whole,
          warning_count: whole,
        }),
      ),
      treaties: rows,
      /** The own revocation feed; null before the first version. */
      own_feed: orNull({
        sequence: whole,
        issued_at: text,
        age_hours: whole,
        ids: whole,
        total_ids: whole,
        parts: whole,
        /** Ids left out because their attestations ended; null when there are too many to count. */
        pruned: wholeOrNull,
        capacity: whole,
      }),
      revocation_feed_summary: required(
        open({ count: whole, freshness: text, stale_count: whole, watch_count: whole }),
      ),
      revocation_feeds: rows,
      partners: withDefault(nullable(shape.object), null),
      boundary_policies: required(shape.object),
      /** Decisions of the last hour by who asked and result. */
      decisions: orNull({ operator: decided, node: decided, partner_node: decided, relay: decided }),
      recent_changes: rows,
      warnings: texts,
      /** The number of nodes minute by minute; null where it was not counted. */
      activity: orNull({ since: textOrNull, step_seconds: whole, active: counts, tracked: counts }),
      /** While a succession of the authority's key is under way. */
      key_succession: optional(
        open({
          phase: text,
          key_id: textOrNull,
          announced_at: textOrNull,
          switched_at: textOrNull,
          switch_by: textOrNull,
          nodes: whole,
          nodes_with_new_block: whole,
          former_key_id: textOrNull,
          next_step: textOrNull,
        }),
      ),
      links: required(shape.object),
    }),
    gateway: { operation: 'public-dashboard-json', group: 'network' },
  },
  operator: {
    id: 'GET /operator',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Operator page',
    purpose: 'Returns the operator page, where the operator key never leaves the browser.',
  },
  operatorPage: {
    id: 'GET /operator/{page}',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    tail: true,
    summary: 'Page of the operator console',
    purpose: 'Returns the frame of the operator console for every address below /operator.',
  },
  faviconIco: {
    id: 'GET /favicon.ico',
    access: 'public',
    limit: 'none',
    stability: 'internal',
    success: 200,
    response: 'static',
    summary: 'Icon (ico)',
    purpose: 'Gives the icon to browsers that ask for the old name.',
    errors: ['asset_not_found'],
  },
  faviconSvg: {
    id: 'GET /favicon.svg',
    access: 'public',
    limit: 'none',
    stability: 'internal',
    success: 200,
    response: 'static',
    summary: 'Icon (svg)',
    purpose: 'Gives the icon of the pages.',
    errors: ['asset_not_found'],
  },
  consoleStyles: {
    id: 'GET /operator-console-static/styles.css',
    access: 'public',
    limit: 'none',
    stability: 'internal',
    success: 200,
    response: 'static',
    summary: 'Page styles',
    purpose: 'Returns the style sheet, because the pages have no inline style.',
    errors: ['asset_not_found'],
  },
  consoleScript: {
    id: 'GET /operator-console-static/console.js',
    access: 'public',
    limit: 'none',
    stability: 'internal',
    success: 200,
    response: 'static',
    summary: 'Page script',
    purpose: 'Returns the script, because the pages have no inline script.',
    errors: ['asset_not_found'],
  },
  consoleLogo: {
    id: 'GET /operator-console-static/logo.svg',
    access: 'public',
    limit: 'none',
    stability: 'internal',
    success: 200,
    response: 'static',
    summary: 'Logo',
    purpose: 'Gives the logo of the pages.',
    errors: ['asset_not_found'],
  },
  consoleFile: {
    id: 'GET /operator-console-static/operator/{file}',
    access: 'public',
    limit: 'none',
    stability: 'internal',
    success: 200,
    response: 'static',
    summary: 'File of the operator console',
    purpose: 'Returns a script or style sheet whose name contains the digest of its content.',
    errors: ['asset_not_found'],
  },
} as const

/** The read-only dashboard and the fixed files its pages load (protocol/core 20.5, 22.5). */
export const dashboard: Routes<typeof facts> = routes(facts)

/** GET /dashboard.json (protocol/core 20.5). */
export type DashboardView = AnswerOf<typeof dashboard.view>
