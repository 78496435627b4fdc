import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { CallError, requestIdOf, send } from '../client.ts'
import { clearOnLock, session } from '../key.ts'
import { Drawer } from '../parts/drawer.tsx'
import { Icon, Seal } from '../parts/icon.tsx'
import { Problem } from '../parts/problem.tsx'
import { Shape } from '../parts/state.tsx'
import { Time } from '../parts/time.tsx'
import { showToast } from '../parts/toast.tsx'
import { reloadAll } from '../parts/use-live.ts'
import type { Act, DrawerProps, Values } from './act.ts'
import { ActFields } from './fields.tsx'
import { makePayload } from './payload.ts'
import { Review } from './review-state.ts'
import { SignedText } from './signed-text.tsx'

/** Values of drawers that were not sent. In memory only; a lock does not remove them. */
const drafts = new Map<string, Values>()
let isLocked = false
clearOnLock(() => (isLocked = true))

/** Every change goes through this drawer: fields, effect, confirmation, the signed text, and the one gold button. */
export function ReviewDrawer({ act: given, onClose }: DrawerProps): JSX.Element {
  const [opened] = useState(given)
  const act = opened.isFixed === true ? opened : given
  const [, render] = useState(0)
  const draftName = `${location.pathname} ${act.name}`
  const review = useMemo(() => {
    const onChange = (): void => render((count) => count + 1)
    const parts = { makePayload, send, now: () => performance.now(), newKey: () => crypto.randomUUID(), onChange }
    return new Review(act, parts, drafts.get(draftName))
  }, [])
  useEffect(() => {
    isLocked = false
    review.open()
    return () => {
      review.close()
      if (isLocked) drafts.set(draftName, review.values)
      else drafts.delete(draftName)
    }
  }, [])
  useEffect(() => review.follow(act))
  const { phase } = review
  const close = (): void => {
    drafts.delete(draftName)
    onClose()
  }
  useEffect(() => {
    if (phase.kind !== 'done') return
    const { toast, view } = act.done(phase.answers, review.values)
    showToast({ ...toast, requestId: requestIdOf(phase.answers.at(-1)) })
    reloadAll()
    if (view === undefined) close()
  }, [phase.kind])
  if (phase.kind === 'done') return <>{act.done(phase.answers, review.values).view?.(close)}</>
  return (
    <Drawer
      title={act.title}
      sentence={act.sentence}
      name={act.name}
      onClose={close}
      foot={<Foot {...{ act, review, close }} />}
    >
      <ActFields fields={act.fields} values={review.values} onEdit={(name, value) => review.edit(name, value)} />
      <Effects act={act} review={review} />
      {act.final === undefined ? null : <Final final={act.final} review={review} />}
      <Outcome act={act} review={review} />
      <SignedText payloads={review.payloads} isOpen={act.final !== undefined} />
    </Drawer>
  )
}

interface ReviewProps {
  readonly act: Act
  readonly review: Review
}

function Effects({ act, review }: ReviewProps): JSX.Element {
  const isReady = review.payloads.length > 0 && review.phase.kind !== 'preparing'
  const effects = isReady ? act.effects(review.values, review.dryRun) : []
  return (
    <section data-effects={isReady ? 'ready' : 'waiting'}>
      <h3>
        What will happen
        {act.hasDryRun === true && isReady ? (
          <small>
            dry run, <Time at={new Date(Date.now() - (performance.now() - review.dryRunAt)).toISOString()} />
          </small>
        ) : null}
      </h3>
      <ul class="effect" aria-busy={!isReady}>
        {isReady ? (
          effects.map((effect) => (
            <li key={effect.text}>
              <Shape shape={effect.shape} tone={effect.tone} />
              <div>
                {effect.text}
                {effect.more === undefined ? null : <p>{effect.more}</p>}
              </div>
            </li>
          ))
        ) : (
          <li>
            <Shape shape="dashed" tone="ended" />
            <div>
              <span class="bone" />
            </div>
          </li>
        )}
      </ul>
    </section>
  )
}

function Final(props: { readonly final: NonNullable<Act['final']>; readonly review: Review }): JSX.Element {
  const { warning, typed } = props.final
  return (
    <>
      <div class="final">
        <Shape shape="triangle" />
        <div>{warning}</div>
      </div>
      <div class="field">
        <label for="typed-confirmation">
          Type <b>{typed}</b> to confirm
        </label>
        <input
          class="input"
          id="typed-confirmation"
          autocomplete="off"
          value={props.review.typed}
          onInput={({ currentTarget }) => props.review.type(currentTarget.value)}
        />
      </div>
    </>
  )
}

const succeeded = (done: number): string =>
  done === 0
    ? ''
    : done === 1
      ? 'The first request succeeded and stays in effect.'
      : `The first ${done} requests succeeded and stay in effect.`

/** Where to check an uncertain outcome. */
function Check({ act: { unknown } }: { readonly act: Act }): JSX.Element | null {
  return unknown === undefined ? null : (
    <>
      {unknown.text} <a href={unknown.href}>{unknown.link}</a>
    </>
  )
}

/** Everything that went another way than planned. */
function Outcome({ act, review }: ReviewProps): JSX.Element | null {
  const { phase, hint } = review
  if (phase.kind === 'unknown')
    return (
      <div class="banner watch" role="alert" data-outcome="unknown">
        <Shape shape="triangle" />
        <div>
          {succeeded(phase.done)} <b>It is not certain whether {phase.done === 0 ? 'it' : 'the next one'} happened.</b>{' '}
          No usable response came.{' '}
          {review.payloads.every(({ idempotencyKey }) => idempotencyKey !== undefined)
            ? 'Signing again sends the same request and has one effect.'
            : 'Check it before you sign again.'}{' '}
          <Check act={act} /> {hint}
        </div>
      </div>
    )
  const happened =
    review.mayHaveHappened && phase.kind !== 'signing' ? (
      <p class="banner watch" role="alert" data-outcome="may-have-happened">
        <b>The first attempt may have happened.</b> <Check act={act} />
      </p>
    ) : null
  if (phase.kind === 'problem' || phase.kind === 'failed') {
    const { problem } = phase
    return (
      <>
        {phase.kind === 'failed' && phase.done > 0 ? (
          <p role="alert">
            {succeeded(phase.done)} {review.mayHaveHappened ? null : 'The next one failed.'}
          </p>
        ) : null}
        {happened}
        {problem instanceof CallError ? (
          <Problem problem={problem} />
        ) : (
          <p class="banner watch" role="alert">
            {problem.message}
          </p>
        )}
      </>
    )
  }
  return (
    <>
      {happened}
      {hint === '' ? null : (
        <p class="banner watch" role="alert" data-outcome="shown-again">
          {hint}
        </p>
      )}
    </>
  )
}

function Foot({ act, review, close }: ReviewProps & { readonly close: () => void }): JSX.Element {
  const isSigning = review.phase.kind === 'signing'
  return (
    <>
      <span class="quiet wide-only">
        Signed by <b>{session.get()?.keyId ?? ''}</b>
      </span>
      <div class="end">
        <button type="button" class="btn tall" onClick={close}>
          Cancel
        </button>
        <button
          type="button"
          class="btn seal"
          aria-disabled={!review.canSign}
          data-sign
          onClick={() => void review.press()}
        >
          {act.isPrivileged === true && session.get()?.who?.tier === 'standard' ? <Icon name="lock" /> : <Seal />}
          {isSigning ? 'Signing…' : review.phase.kind === 'unknown' ? 'Sign again' : act.button}
        </button>
      </div>
    </>
  )
}
