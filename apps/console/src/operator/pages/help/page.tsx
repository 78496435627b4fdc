import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { storeChoice } from '../../choices.ts'
import { KEYS, hasSingleKeys } from '../../keyboard.ts'
import { PAGES } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Command } from '../../parts/command.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { toastHistory } from '../../parts/toast.tsx'
import { useStore } from '../../store.ts'

/** How do I…? Keyboard, pages, references, and the messages since the unlock. */
export function Page(): JSX.Element {
  const toasts = useStore(toastHistory)
  return (
    <>
      <Bar title="Help" asks="How do I…?" />
      <div class="content stack">
        <Keyboard />
        <section class="panel">
          <header>
            <h2>Pages</h2>
          </header>
          <ul class="plain body">
            {PAGES.filter(({ nav }) => nav !== undefined).map((page) => (
              <li key={page.path}>
                <a class="linked" href={page.path}>
                  {page.title}
                </a>{' '}
                <span class="quiet">{page.asks}</span>
              </li>
            ))}
          </ul>
        </section>
        <Checks />
        <section class="panel" id="operators">
          <header>
            <h2>Add an operator</h2>
          </header>
          <div class="body">
            <p>
              Run this on the machine of the authority, with the public key of the new operator. The authority accepts
              the key from its next request on.
            </p>
            <Command text="chancery operator add KEY_ID --key FILE --tier standard" />
          </div>
        </section>
        <References />
        <section class="panel">
          <header>
            <h2>Messages since you unlocked</h2>
          </header>
          {toasts.length === 0 ? (
            <p class="body quiet">None.</p>
          ) : (
            <ul class="plain body">
              {toasts.map(({ at, text }) => (
                <li key={at}>
                  <Time at={at} /> {text}
                </li>
              ))}
            </ul>
          )}
        </section>
      </div>
    </>
  )
}

const CHECKS = [
  [
    'square',
    'bad',
    'Now',
    'not ready, policies that cannot decide, missing evidence, a revocation list that is not current',
  ],
  [
    'triangle',
    'urgent',
    'Urgent',
    'a treaty ends within 24 h or has ended, a policy or the key window ends within 3 days',
  ],
  [
    'triangle',
    'watch',
    'Watch',
    'a treaty ends within 72 h, a feed is older than 24 h, nodes are silent, refused calls',
  ],
  ['dashed', 'ended', 'Later', 'one operator key only, no backup for 36 h, anchors on request only, open first steps'],
] as const

/** What the overview checks. `chancery doctor` reports the same and checks the machine, too. */
function Checks(): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>What the overview checks</h2>
      </header>
      <div class="body">
        <dl class="facts">
          {CHECKS.map(([shape, tone, word, text]) => (
            <div key={word}>
              <dt>
                <State shape={shape} tone={tone} word={word} />
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <p class="gap">
          The findings are those of <code class="mono">chancery doctor</code>, which also checks the machine of the
          authority. <a href="/operator/start">First steps</a> shows what is left to set up.
        </p>
      </div>
    </section>
  )
}

function References(): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>References</h2>
      </header>
      <ul class="plain body">
        <li>
          <a class="linked" href="/api-reference" target="_blank">
            API
          </a>{' '}
          <span class="quiet">every route of this authority; opens a new window</span>
        </li>
        <li>
          <a class="linked" href="/cli-reference" target="_blank">
            Commands
          </a>{' '}
          <span class="quiet">every command; opens a new window</span>
        </li>
        <li>
          <a class="linked" href="/operator/start">
            First steps
          </a>{' '}
          <span class="quiet">what is left to set up this network</span>
        </li>
        <li>
          <a class="linked" href="/" target="_blank">
            Public overview
          </a>{' '}
          <span class="quiet">what is public; opens a new window</span>
        </li>
      </ul>
    </section>
  )
}

function Keyboard(): JSX.Element {
  const [isOn, setOn] = useState(hasSingleKeys())
  const go = PAGES.flatMap(({ key, title }) => (key === undefined ? [] : [`${key} ${title}`]))
  return (
    <section class="panel">
      <header>
        <h2>Keyboard</h2>
      </header>
      <div class="body">
        <dl class="facts">
          {KEYS.map(([keys, does]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
          <div>
            <dt>
              <kbd>g then</kbd>
            </dt>
            <dd>{go.join(', ')}</dd>
          </div>
        </dl>
        <label class="gap">
          <input
            type="checkbox"
            class="check"
            checked={isOn}
            onChange={({ currentTarget: { checked } }) => {
              storeChoice('single-keys', checked ? 'on' : 'off')
              setOn(checked)
            }}
          />{' '}
          Use single keys. Ctrl K always works.
        </label>
      </div>
    </section>
  )
}
