import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { at, authorityNow, read, readText } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Id } from '../../parts/id.tsx'
import { Arrows, useListHref } from '../../parts/neighbours.tsx'
import { noteVisit } from '../../parts/palette.tsx'
import { Blank, Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { type DecisionStory, type EvidenceEvent, toStory } from '../../proof/decision-group.ts'
import { splitObjects } from '../../proof/split-lines.ts'
import { StoreOff, isStoreOff } from '../../proof/store-off.tsx'
import { outcomeState, parametersText, storyText } from '../../words/decisions.ts'
import { Gates } from './gates.tsx'
import { ExportButton, Side, useChecks } from './side.tsx'
import { Answer, Basis, Done, Request, Step } from './steps.tsx'

interface Loaded {
  readonly story: DecisionStory | undefined
  readonly lines: readonly string[]
  /** The last sequence that retention removed, when the decision is not there. */
  readonly removedThrough: number | null
}

/** Why was this the outcome, and can it be proved? The five steps of one decision, and its checks. */
export function Page({ params }: PageProps): JSX.Element {
  const id = params['decision_id'] ?? ''
  const live = useLive(`decision ${id}`, (signal) => load(id, signal), ['evidence'])
  const story = live.value?.story
  const title = story === undefined ? 'Decision' : titleOf(story)
  useEffect(() => {
    if (story !== undefined) noteVisit({ text: title, icon: 'decision', href: location.pathname })
  }, [title])
  const bar = (
    <Bar title={title} crumbs={[{ href: useListHref('/operator/decisions'), text: 'Decisions' }]} live={live}>
      <Arrows what="decision" />
    </Bar>
  )
  if (isStoreOff(live.problem)) return <StoreOff bar={bar} />
  return (
    <>
      {bar}
      {live.problem === undefined ? null : <Problem problem={live.problem} />}
      {live.value === undefined ? <div class="content" aria-busy="true" /> : null}
      {live.value !== undefined && story === undefined ? (
        <Missing id={id} removedThrough={live.value.removedThrough} />
      ) : null}
      {story === undefined ? null : <Story story={story} lines={live.value?.lines ?? []} />}
    </>
  )
}

async function load(id: string, signal: AbortSignal): Promise<Loaded> {
  const text = await readText(at`/admin/evidence`, { decision_id: id, limit: 1000 }, signal)
  const lines = splitObjects(text, 'entries')
  const story = toStory(lines.map((line) => JSON.parse(line) as EvidenceEvent))
  if (story !== undefined) return { story, lines, removedThrough: null }
  const status = await read<{ readonly retention_checkpoint: number | null }>(at`/admin/evidence/status`, {}, signal)
  return { story, lines, removedThrough: status.retention_checkpoint }
}

function titleOf({ entry, context }: DecisionStory): string {
  return `${outcomeState(entry.outcome).word}: ${context.requested_capability}, ${entry.vendor_id ?? ''}`
}

/** An id that is no decision, and a decision that retention removed, are different answers. */
function Missing(props: { readonly id: string; readonly removedThrough: number | null }): JSX.Element {
  const text =
    props.removedThrough === null
      ? 'The store is complete from its first entry, so this id is not a decision of this authority.'
      : `Retention removed the entries up to #${props.removedThrough}. This decision may be one of them, or the id is not a decision of this authority.`
  return (
    <Blank icon="search" title="The store has no such decision" text={text}>
      <p>
        <Id id={props.id} what="the decision id" whole /> · <a href="/operator/decisions">All decisions</a>
      </p>
    </Blank>
  )
}

function Story(props: { readonly story: DecisionStory; readonly lines: readonly string[] }): JSX.Element {
  const { story } = props
  const checking = useChecks(story, props.lines)
  const { decision, context, entry, justification } = story
  const trace = justification?.trace.entries ?? []
  const parameters = parametersText(context.request_parameters)
  return (
    <div class="content">
      <div class="hero">
        <div>
          <h2>
            <State {...outcomeState(entry.outcome)} isPill /> {context.requested_capability}, {entry.vendor_id}
          </h2>
          <p data-story>
            <b>{entry.vendor_id}</b> asked for <span class="mono">{context.requested_capability}</span>
            {parameters === '' ? '' : ` with ${parameters}`}. {storyText(decision, context, trace)}
          </p>
          <div class="meta">
            <Time at={decision.decision_made_at} both />
            <Id id={decision.decision_id} what="the decision id" whole />
          </div>
        </div>
        <div class="end">
          <ExportButton story={story} checking={checking} />
        </div>
      </div>
      <div class="split">
        <Steps story={story} />
        <Side story={story} checking={checking} />
      </div>
    </div>
  )
}

function Steps({ story }: { readonly story: DecisionStory }): JSX.Element {
  const { decision, context, justification } = story
  const passed = decision.gate_results.filter((gate) => gate.passed).length
  return (
    <section aria-label="How it was decided">
      <ol class="steps">
        <Step number={1} title="Request" note={clock(context.requested_at)} state="pass">
          <Request story={story} />
        </Step>
        <Step number={2} title="Basis" note="what gives a right to ask" state="pass">
          <Basis story={story} />
        </Step>
        <Step
          number={3}
          title="Gates"
          note={`${passed} of ${decision.gate_results.length} passed, in this order`}
          state={decision.authorized ? 'pass' : 'fail'}
        >
          <Gates story={story} trace={justification?.trace.entries ?? []} />
        </Step>
        <Step
          number={4}
          title="Decision"
          note={validity(decision.decision_made_at, decision.decision_valid_until)}
          state={decision.authorized ? 'pass' : 'fail'}
        >
          <Answer story={story} />
        </Step>
        <Step number={5} title="Executions" note={executionNote(story)} state={story.done.length > 0 ? 'pass' : 'none'}>
          <Done story={story} isOver={Date.parse(decision.decision_valid_until) < authorityNow()} />
        </Step>
      </ol>
    </section>
  )
}

const clock = (time: string): string => `${time.slice(11, 23).replace(/[Z+].*$/, '')} UTC`

function validity(from: string, until: string): string {
  return `valid for ${Math.round((Date.parse(until) - Date.parse(from)) / 1000)} s, until ${until.slice(11, 19)} UTC`
}

const executionNote = ({ done }: DecisionStory): string =>
  done.length === 0 ? '' : `${done.length} ${done.length === 1 ? 'record' : 'records'}`
