import { visible } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { pretty } from '../../components/treaty-view.tsx'
import type { Action, Drafted, Field, Values } from './action.ts'
import type { Preview } from './preview.ts'
import { PreviewView } from './preview-view.tsx'

type FormStep =
  | { readonly kind: 'writing'; readonly problem?: string }
  | { readonly kind: 'asking' }
  | { readonly kind: 'shown'; readonly reviewed: Reviewed }
  | { readonly kind: 'sending'; readonly reviewed: Reviewed }
  | { readonly kind: 'done'; readonly response: string }

/** The reviewed request. Only this can be signed, not later edits. */
interface Reviewed {
  readonly values: Values
  readonly drafted: Drafted
  readonly preview: Preview
}

/** One action in its steps: input, review, confirmation, signature, response. */
// oxlint-disable-next-line max-lines-per-function -- the state of one form and its markup
export function ActionCard(props: {
  readonly action: Action
  readonly client: Client
  /** Values from another part of the page. The card opens with them. */
  readonly initialValues: Values | undefined
}): JSX.Element {
  const { action, client, initialValues } = props
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(action.fields.map((field) => [field.name, field.initial ?? ''])),
  )
  const [step, setStep] = useState<FormStep>({ kind: 'writing' })
  const [isSure, setSure] = useState(false)
  const card = useRef<HTMLDetailsElement>(null)
  /** Counts edits: a preview of an earlier input is dropped. */
  const writing = useRef(0)
  const isSending = step.kind === 'sending'
  const write = (change: (current: Values) => Values): void => {
    writing.current += 1
    setValues(change)
    // The review belongs to an earlier input, so it must be shown again.
    setStep({ kind: 'writing' })
  }
  useEffect(() => {
    if (initialValues === undefined || card.current === null || isSending) return
    write((current) => ({ ...current, ...initialValues }))
    card.current.open = true
    card.current.querySelector('button')?.focus()
  }, [initialValues])

  const attempt = async (next: () => Promise<FormStep>, isCurrent: () => boolean = () => true): Promise<void> => {
    const result = next().catch((error: unknown): FormStep => ({ kind: 'writing', problem: explain(error) }))
    const reached = await result
    if (isCurrent()) setStep(reached)
  }
  const show = (event: Event): void => {
    event.preventDefault()
    setSure(false)
    setStep({ kind: 'asking' })
    const asked = (writing.current += 1)
    const previewed = async (): Promise<FormStep> => {
      const drafted = action.draft(values)
      const preview = (await drafted.preview?.(client)) ?? { lines: [] }
      return { kind: 'shown', reviewed: { values, drafted, preview } }
    }
    void attempt(previewed, () => asked === writing.current)
  }
  const send = (reviewed: Reviewed): void => {
    setStep({ kind: 'sending', reviewed })
    void attempt(async () => ({
      kind: 'done',
      response: visible(pretty(await reviewed.drafted.send(client)), { keepLineBreaks: true }),
    }))
  }
  const isWriting = step.kind === 'writing' || step.kind === 'done'
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
            set={(value) => write((current) => ({ ...current, [field.name]: value }))}
          />
        ))}
        <button disabled={!isWriting}>{action.isFinal ? 'Show what it will do' : 'Review'}</button>
        {step.kind === 'writing' && step.problem !== undefined ? <p role="alert">{step.problem}</p> : null}
        {step.kind === 'asking' ? <p role="status">Asking…</p> : null}
        {step.kind === 'shown' || step.kind === 'sending' ? (
          <Review
            action={action}
            reviewed={step.reviewed}
            isSending={isSending}
            isSure={isSure}
            setSure={setSure}
            send={() => send(step.reviewed)}
            back={() => setStep({ kind: 'writing' })}
          />
        ) : null}
        {step.kind === 'done' ? (
          <div class="answer" role="status" data-done>
            <p>Done. Response of the authority:</p>
            <pre tabIndex={0}>{step.response}</pre>
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
  const { values, drafted, preview } = props.reviewed
  return (
    <div class={`review ${action.isFinal ? 'review-final' : ''}`} role="group" aria-label="Review">
      <p>
        Will be signed and sent: <code>{visible(drafted.target)}</code>
      </p>
      <dl class="facts">
        {action.fields.map((field) => (
          <div key={field.name}>
            <dt>{field.label}</dt>
            <dd>{visible(values[field.name] ?? '') || 'default'}</dd>
          </div>
        ))}
      </dl>
      <pre tabIndex={0} data-body>
        {visible(pretty(drafted.body), { keepLineBreaks: true })}
      </pre>
      <PreviewView preview={preview} />
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
