import type { JsonObject } from '@chancery/protocol'
import type { PolicySimulation } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallError } from '../../client.ts'
import { Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { type Replay, SAMPLE, replay } from '../policies/replay.ts'

type SampleRow = PolicySimulation['sample'][number]

/** What the draft would have changed in past decisions. */
export function ReplayView(props: {
  readonly replay: Replay | undefined
  readonly intent: JsonObject | undefined
  readonly isRunning: boolean
  readonly onRun: () => void
}): JSX.Element {
  const { replay: done, intent, isRunning } = props
  const result = done?.result
  return (
    <>
      <header class="strip topline">
        <b>
          {result === undefined ? 'Replay' : `Replayed over the newest ${result.total.toLocaleString('en')} decisions`}
        </b>
        <div class="end">
          {typeof result?.first_sequence !== 'number' ? null : (
            <span class="quiet wide-only">
              #{result.first_sequence} to #{result.last_sequence}
            </span>
          )}
          <button
            type="button"
            class="btn tiny"
            aria-disabled={intent === undefined || isRunning}
            onClick={props.onRun}
          >
            {isRunning ? 'Replaying…' : done === undefined ? 'Replay' : 'Replay again'}
          </button>
        </div>
      </header>
      <div role="status" data-replay={result === undefined ? '' : changes(result)}>
        {done?.problem === undefined ? null : <Problem problem={done.problem} />}
        {result === undefined ? (
          done?.problem === undefined ? (
            <p class="pad quiet">Replay the newest decisions to see what this draft would change. Nothing is stored.</p>
          ) : null
        ) : (
          <Figures result={result} />
        )}
      </div>
      {result === undefined || intent === undefined ? null : <Sample key={done?.at} first={result} intent={intent} />}
    </>
  )
}

/** Newly denied, newly allowed, unchanged. */
const changes = (result: PolicySimulation): string =>
  `${result.newly_denied}/${result.newly_allowed}/${result.unchanged}`

function Figures({ result }: { readonly result: PolicySimulation }): JSX.Element {
  const { unchanged, newly_allowed, newly_denied, total } = result
  const name = `${unchanged} as before, ${newly_allowed} newly allowed, ${newly_denied} newly denied`
  const part = (count: number): number => (total === 0 ? 0 : (count / total) * 1000)
  return (
    <div class="pad">
      <div class="figures">
        <div>
          <b>{unchanged.toLocaleString('en')}</b>
          <span>as before</span>
        </div>
        <div>
          <b class={newly_allowed > 0 ? 'ok' : ''}>{newly_allowed.toLocaleString('en')}</b>
          <span>newly allowed</span>
        </div>
        <div>
          <b class={newly_denied > 0 ? 'no' : ''}>{newly_denied.toLocaleString('en')}</b>
          <span>newly denied</span>
        </div>
      </div>
      <svg class="share" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={name}>
        <rect class="bar-ended" width={part(unchanged)} height="10" />
        <rect class="bar-good" x={part(unchanged)} width={part(newly_allowed)} height="10" />
        <rect class="bar-bad" x={part(unchanged + newly_allowed)} width={part(newly_denied)} height="10" />
      </svg>
      {result.candidate_set_healthy ? null : (
        <p role="alert" class="no">
          With this draft in force the set is not healthy, and every request is denied.
        </p>
      )}
    </div>
  )
}

/** Changed decisions, by their number in the evidence store. More are read when asked for. */
function Sample({
  first,
  intent,
}: {
  readonly first: PolicySimulation
  readonly intent: JsonObject
}): JSX.Element | null {
  const [more, setMore] = useState<readonly SampleRow[]>([])
  const [cursor, setCursor] = useState(first.next_sample_cursor)
  const [problem, setProblem] = useState<CallError>()
  useEffect(() => setCursor(first.next_sample_cursor), [first])
  const rows = [...first.sample, ...more]
  const total = first.newly_allowed + first.newly_denied
  const readMore = async (sample_cursor: string): Promise<void> => {
    try {
      const next = await replay(intent, { sample_limit: SAMPLE * 5, sample_cursor })
      setMore([...more, ...next.sample])
      setCursor(next.next_sample_cursor)
    } catch (error) {
      if (error instanceof CallError) setProblem(error)
    }
  }
  if (rows.length === 0) return null
  return (
    <>
      <SampleTable rows={rows} />
      {problem === undefined ? null : <Problem problem={problem} />}
      <p class="pad quiet small">
        {rows.length} of {total.toLocaleString('en')} that change.{' '}
        {cursor === null ? null : (
          <button type="button" class="btn tiny" onClick={() => void readMore(cursor)}>
            More
          </button>
        )}
      </p>
    </>
  )
}

function SampleTable({ rows }: { readonly rows: readonly SampleRow[] }): JSX.Element {
  return (
    <div class="table tightrows" tabIndex={0} role="region" aria-label="Decisions that would change">
      <table>
        <thead>
          <tr>
            <th scope="col">Evidence</th>
            <th scope="col">Was</th>
            <th scope="col">Would be</th>
            <th scope="col">Because of</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.index}>
              <td class="id">#{row.store_sequence}</td>
              <td>
                <Verdict isAllowed={row.active.authorized} />
              </td>
              <td>
                <Verdict isAllowed={row.candidate.authorized} />
              </td>
              <td>{row.candidate.denial_reason ?? row.active.denial_reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Verdict({ isAllowed }: { readonly isAllowed: boolean }): JSX.Element {
  return isAllowed ? (
    <State shape="circle" tone="good" word="Allowed" />
  ) : (
    <State shape="square" tone="bad" word="Denied" />
  )
}
