import { EVENT_STREAM_TYPE, changes } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { ChangeStreams, type ChangesParts, toChanges } from './streams.ts'
import { type HandlerResult, StreamResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { joinVersions } from './topics.ts'

/** Proxies must neither cache, compress nor collect events. */
const STREAM_HEADERS = { 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no' }

/**
 * GET /admin/changes
 * Returns the version of each topic, the joint version, and what changed since an earlier joint version. Once, or as an
 * event stream.
 */
async function current(call: OperatorCall, streams: ChangeStreams): Promise<HandlerResult> {
  const since = call.query.first('since')
  const { operator } = call
  const isStream = acceptsEvents(call.headers.get('accept') ?? '')
  if (isStream) streams.check(operator)
  const versions = await streams.read()
  if (!isStream) return toChanges(versions, since ?? joinVersions(versions))
  return new StreamResponse(
    EVENT_STREAM_TYPE,
    (writer) => streams.open(operator, writer, versions, since),
    STREAM_HEADERS,
  )
}

function acceptsEvents(accept: string): boolean {
  return accept.split(',').some((range) => range.split(';')[0]?.trim().toLowerCase() === EVENT_STREAM_TYPE)
}

export function openChanges(parts: ChangesParts): Feature {
  const streams = new ChangeStreams(parts)
  return {
    routes: [bind(changes.current, (call) => current(call, streams))],
    jobs: [],
    close: () => streams.close(),
  }
}
