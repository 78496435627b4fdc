import { visible, visibleLines } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { pretty } from '../../components/paper.tsx'
import type { Action, Drafted, Field, Values } from './action.ts'
import type { Forecast } from './forecast.ts'
import { ForecastView } from './forecast-view.tsx'

type Stage =
  | { readonly kind: 'writing'; readonly problem?: string }
  | { readonly kind: 'asking' }
  | { readonly kind: 'shown'; readonly reviewed: Reviewed }
  | { readonly kind: 'sending'; readonly reviewed: Reviewed }
  | { readonly kind: 'done'; readonly answer: string }

/** What the reader saw. Only this can be signed, whatever was written since. */
interface Reviewed {
  readonly values: Values
  readonly drafted: Drafted
  readonly forecast: Forecast
}

/** One action through its stages: written, shown, confirmed, signed, answered. */
export function ActionCard(props: {
  readonly action: Action
  readonly client: Client
  /** Words brought from elsewhere on the desk: the card opens with them. */
  readonly brought: Values | undefined
}): JSX.Element {
  const { action, client, brought } = props
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(action.fields.map((field) => [field.name, field.initial ?? ''])),
  )
  const [stage, setStage] = useState<Stage>({ kind: 'writing' })
  const [isSure, setSure] = useState(false)
  const card = useRef<HTMLDetailsElement>(null)
  /** Counts what was written: an answer about earlier words comes too late. */
  const writing = useRef(0)
  const isSending = stage.kind === 'sending'
  const write = (change: (held: Values) => Values): void => {
    writing.current += 1
    setValues(change)
    // What was shown belongs to other words: it has to be shown again.
    setStage({ kind: 'writing' })
  }
  useEffect(() => {
    if (brought === undefined || card.current === null || isSending) return
    write((held) => ({ ...held, ...brought }))
    card.current.open = true
    card.current.querySelector('button')?.focus()
  }, [brought])

  const attempt = async (next: () => Promise<Stage>, isCurrent: () => boolean = () => true): Promise<void> => {
    const stageOf = next().catch((error: unknown): Stage => ({ kind: 'writing', problem: explain(error) }))
    const reached = await stageOf
    if (isCurrent()) setStage(reached)
  }
  const show = (event: Event): void => {
    event.preventDefault()
    setSure(false)
    setStage({ kind: 'asking' })
    const asked = (writing.current += 1)
    const foreseen = async (): Promise<Stage> => {
      const drafted = action.draft(values)
      const forecast = (await drafted.foresee?.(client)) ?? { lines: [] }
      return { kind: 'shown', reviewed: { values, drafted, forecast } }
    }
    void attempt(foreseen, () => asked === writing.current)
  }
  const send = (reviewed: Reviewed): void => {
    setStage({ kind: 'sending', reviewed })
    void attempt(async () => ({ kind: 'done', answer: visibleLines(pretty(await reviewed.drafted.send(client))) }))
  }
  const isWriting = stage.kind === 'writing' || stage.kind === 'done'
  return (
    <details ref={card} class="route action" data-action={action.id}>
      <summary>
        <strong>{action.title}</strong> <span class="title">{action.purpose}</span>
      </summary>
      <form class="try" onSubmit={show}>
        {action.fields.map((field) => (
          <Entry
            key={field.name}
            field={field}
            id={`${action.id}-${field.name}`}
            value={values[field.name] ?? ''}
            isFixed={isSending}
            set={(value) => write((held) => ({ ...held, [field.name]: value }))}
          />
        ))}
        <button disabled={!isWriting}>{action.isFinal ? 'Show what it will do' : 'Review'}</button>
        {stage.kind === 'writing' && stage.problem !== undefined ? <p role="alert">{stage.problem}</p> : null}
        {stage.kind === 'asking' ? <p role="status">Asking…</p> : null}
        {stage.kind === 'shown' || stage.kind === 'sending' ? (
          <Review
            action={action}
            reviewed={stage.reviewed}
            isSending={isSending}
            isSure={isSure}
            setSure={setSure}
            send={() => send(stage.reviewed)}
            back={() => setStage({ kind: 'writing' })}
          />
        ) : null}
        {stage.kind === 'done' ? (
          <div class="answer" role="status" data-done>
            <p>Done. The authority answered:</p>
            <pre tabIndex={0}>{stage.answer}</pre>
          </div>
        ) : null}
      </form>
    </details>
  )
}

function Review(props: {
  readonly action: Action
  readonly reviewed: Reviewed
  readonly isSending: boolean
  readonly isSure: boolean
  readonly setSure: (isSure: boolean) => void
  readonly send: () => void
  readonly back: () => void
}): JSX.Element {
  const { action, isSending, isSure } = props
  const { values, drafted, forecast } = props.reviewed
  return (
    <div class={`review ${action.isFinal ? 'review-final' : ''}`} role="group" aria-label="Review">
      <p>
        Will be signed and sent: <code>{visible(drafted.target)}</code>
      </p>
      <dl class="facts">
        {action.fields
          .filter((field) => field.isAside !== true)
          .map((field) => (
            <div key={field.name}>
              <dt>{field.label}</dt>
              <dd>{visible(values[field.name] ?? '') || 'default'}</dd>
            </div>
          ))}
      </dl>
      <pre tabIndex={0} data-body>
        {visibleLines(pretty(drafted.body))}
      </pre>
      <ForecastView forecast={forecast} />
      {action.isFinal ? (
        <label class="sure">
          <input type="checkbox" checked={isSure} onChange={(event) => props.setSure(event.currentTarget.checked)} /> I
          have read what it will do.
        </label>
      ) : null}
      <p class="actions">
        <button
          type="button"
          class={action.isFinal ? 'danger' : ''}
          disabled={isSending || (action.isFinal && !isSure)}
          onClick={props.send}
        >
          Sign and send
        </button>
        <button type="button" class="quiet-button" disabled={isSending} onClick={props.back}>
          Back
        </button>
      </p>
    </div>
  )
}

function Entry(props: {
  readonly field: Field
  readonly id: string
  readonly value: string
  readonly isFixed: boolean
  readonly set: (value: string) => void
}): JSX.Element {
  const { field, id, value, isFixed, set } = props
  const shared = { id, name: field.name, value, disabled: isFixed, required: field.required ?? false }
  return (
    <p class="entry">
      <label for={id}>{field.label}</label>
      {field.kind === 'choice' ? (
        <select {...shared} onChange={(event) => set(event.currentTarget.value)}>
          {(field.choices ?? []).map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : field.kind === 'json' ? (
        <textarea
          {...shared}
          rows={field.rows ?? 8}
          spellcheck={false}
          onInput={(event) => set(event.currentTarget.value)}
        />
      ) : (
        <input
          {...shared}
          inputMode={field.kind === 'number' ? 'numeric' : 'text'}
          autocomplete="off"
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
      {field.help === undefined ? null : <span class="quiet">{field.help}</span>}
    </p>
  )
}
