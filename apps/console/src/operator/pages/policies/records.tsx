import { type JsonObject, readJson } from '@chancery/protocol'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { CallError, at, readJsonText, readPublicText } from '../../client.ts'
import type { Liveness } from '../../parts/bar.tsx'
import { Blank, Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { withQuery } from '../../router.ts'
import { Acts, doHref } from '../../signing/review.tsx'
import { DiffCount, DiffView } from './diff-view.tsx'
import { HISTORY_LIMITS } from './history.ts'
import { spell } from './policy-text.ts'
import { type RecordKind, publishRecordAct, recordText, rollbackAct } from './record-kinds.ts'

interface StoredRecord {
  readonly policy_id: string
  readonly active: boolean
  readonly created_at: string
  readonly policy: JsonObject
}

interface Records {
  /** Undefined while nothing was published. */
  readonly current: JsonObject | undefined
  /** Newest first. Only the network policy has a history. */
  readonly versions: readonly StoredRecord[]
}

const VERSIONS = 50

/** Reads numbers as signed: a record with 1.0 must not be published again with 1. */
async function load(kind: RecordKind, signal: AbortSignal): Promise<Records> {
  const history = async (): Promise<readonly StoredRecord[]> => {
    if (kind.tab !== 'network') return []
    const target = at`/admin/policy/history`
    const page = readJson(await readJsonText(target, { limit: VERSIONS }, signal), HISTORY_LIMITS)
    return (page as unknown as { readonly versions: readonly StoredRecord[] }).versions
  }
  const current = async (): Promise<JsonObject | undefined> => {
    try {
      return readJson(await readPublicText(kind.current, signal), HISTORY_LIMITS) as JsonObject
    } catch (error) {
      if (error instanceof CallError && error.code === kind.absent) return undefined
      throw error
    }
  }
  // GET /policy makes the default version, so the history is read after it.
  const record = await current()
  return { current: record, versions: await history() }
}

/** One record: the current text, its history where there is one, and its publication. */
export function RecordTab(props: {
  readonly kind: RecordKind
  readonly query: URLSearchParams
  readonly onLive: (live: Liveness) => void
}): JSX.Element {
  const { kind, query } = props
  const live = useLive(`record ${kind.tab}`, (signal) => load(kind, signal), ['policies'])
  useEffect(() => props.onLive(live), [live.readAt, live.isStale])
  if (live.value === undefined)
    return live.problem === undefined ? <div aria-busy="true" /> : <Problem problem={live.problem} />
  const { current, versions } = live.value
  const publish = (
    <a class="btn" href={doHref('publish')}>
      Publish…
    </a>
  )
  return (
    <>
      {current === undefined ? (
        <Blank icon="policy" title={`No ${kind.title.toLowerCase()} yet`} text={kind.purpose}>
          {publish}
        </Blank>
      ) : (
        <div class="editor single">
          <section aria-label={kind.title} data-record={kind.tab}>
            <header class="strip">
              <b>{kind.title}</b>
              <span class="quiet wide-only">{kind.purpose}</span>
              <div class="end">{publish}</div>
            </header>
            <pre class="code pad" tabIndex={0} aria-label={`${kind.title}, current text`}>
              {spell(current)}
            </pre>
          </section>
        </div>
      )}
      {versions.length === 0 ? null : <History kind={kind} versions={versions} query={query} />}
      <Acts
        of={[publishRecordAct(kind, current), ...versions.map(({ policy_id }) => rollbackAct(policy_id))]}
        query={query}
      />
    </>
  )
}

function History(props: {
  readonly kind: RecordKind
  readonly versions: readonly StoredRecord[]
  readonly query: URLSearchParams
}): JSX.Element {
  const { kind, versions, query } = props
  const chosen = versions.find(({ policy_id }) => policy_id === query.get('compare'))
  const active = versions.find((version) => version.active)
  return (
    <>
      <div class="table rows" role="region" aria-label="History" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">State</th>
              <th scope="col">Published</th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
            {versions.map((version) => (
              <HistoryRow key={version.policy_id} {...version} />
            ))}
          </tbody>
        </table>
      </div>
      {chosen === undefined || active === undefined ? null : (
        <Difference
          name={active.policy_id}
          before={recordText(kind, active.policy)}
          after={recordText(kind, chosen.policy)}
        />
      )}
    </>
  )
}

function HistoryRow({ policy_id, active, created_at }: StoredRecord): JSX.Element {
  return (
    <tr>
      <td class="p-a">
        <b class="name">{policy_id}</b>
      </td>
      <td class="p-b">
        {active ? (
          <State shape="circle" tone="good" word="In force" />
        ) : (
          <State shape="dash" tone="ended" word="Not in force" />
        )}
      </td>
      <td class="p-c">
        <Time at={created_at} />
      </td>
      <td class="p-d">
        {active ? null : (
          <span class="nowrap">
            <a
              class="btn tiny"
              href={withQuery({ compare: policy_id, do: undefined })}
              aria-label={`Compare ${policy_id}`}
            >
              Compare
            </a>{' '}
            <a class="btn tiny" href={doHref(`rollback-${policy_id}`)} aria-label={`Go back to ${policy_id}…`}>
              Go back…
            </a>
          </span>
        )}
      </td>
    </tr>
  )
}

function Difference(props: { readonly name: string; readonly before: string; readonly after: string }): JSX.Element {
  return (
    <div class="editor single">
      <section aria-label="Difference">
        <header class="strip topline">
          <b>Against {props.name}, in force</b>
          <div class="end">
            <DiffCount {...props} />
          </div>
        </header>
        <DiffView {...props} />
      </section>
    </div>
  )
}
