import type { Client } from '@chancery/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { pretty } from '../../components/paper.tsx'
import type { Action, Field, Values } from './action.ts'
import type { Forecast } from './forecast.ts'
import { ForecastView } from './forecast-view.tsx'

type Stage =
  | { readonly kind: 'writing'; readonly problem?: string }
  | { readonly kind: 'asking' }
  | { readonly kind: 'shown'; readonly forecast: Forecast }
  | { readonly kind: 'sending'; readonly forecast: Forecast }
  | { readonly kind: 'done'; readonly answer: string }

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
  useEffect(() => {
    if (brought === undefined || card.current === null) return
    setValues((held) => ({ ...held, ...brought }))
    setStage({ kind: 'writing' })
    card.current.open = true
    card.current.querySelector('button')?.focus()
  }, [brought])

  const attempt = async (next: () => Promise<Stage>): Promise<void> => {
    try {
      setStage(await next())
    } catch (error) {
      setStage({ kind: 'writing', problem: explain(error) })
    }
  }
  const show = (event: Event): void => {
    event.preventDefault()
    setSure(false)
    setStage({ kind: 'asking' })
    void attempt(async () => ({ kind: 'shown', forecast: (await action.foresee?.(client, values)) ?? { lines: [] } }))
  }
  const send = (forecast: Forecast): void => {
    setStage({ kind: 'sending', forecast })
    void attempt(async () => ({ kind: 'done', answer: pretty(await action.carryOut(client, values)) }))
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
            set={(value) => {
              setValues({ ...values, [field.name]: value })
              // What was shown belongs to other words: it has to be shown again.
              setStage({ kind: 'writing' })
            }}
          />
        ))}
        <button disabled={!isWriting}>{action.isFinal ? 'Show what it will do' : 'Review'}</button>
        {stage.kind === 'writing' && stage.problem !== undefined ? <p role="alert">{stage.problem}</p> : null}
        {stage.kind === 'asking' ? <p role="status">Asking…</p> : null}
        {stage.kind === 'shown' || stage.kind === 'sending' ? (
          <Review
            action={action}
            values={values}
            forecast={stage.forecast}
            isSending={stage.kind === 'sending'}
            isSure={isSure}
            setSure={setSure}
            send={() => send(stage.forecast)}
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
  readonly values: Values
  readonly forecast: Forecast
  readonly isSending: boolean
  readonly isSure: boolean
  readonly setSure: (isSure: boolean) => void
  readonly send: () => void
  readonly back: () => void
}): JSX.Element {
  const { action, values, forecast, isSending, isSure } = props
  return (
    <div class={`review ${action.isFinal ? 'review-final' : ''}`} role="group" aria-label="Review">
      <p>
        Will be signed and sent: <code>{action.target(values)}</code>
      </p>
      <dl class="facts">
        {action.fields
          .filter((field) => field.isAside !== true)
          .map((field) => (
            <div key={field.name}>
              <dt>{field.label}</dt>
              <dd>{values[field.name] === '' ? 'default' : values[field.name]}</dd>
            </div>
          ))}
      </dl>
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
  readonly set: (value: string) => void
}): JSX.Element {
  const { field, id, value, set } = props
  const shared = { id, name: field.name, value, required: field.required ?? false }
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
