import { type JSX, render } from 'preact'
import { useState } from 'preact/hooks'
import { explain } from '../../authority.ts'

/** Lets a reader call public reads and verify routes from the reference page. Nothing that changes state is offered. */
export function mountReference(root: Document): void {
  for (const entry of root.querySelectorAll('details[data-route]')) {
    const [method = '', path = ''] = (entry.getAttribute('data-route') ?? '').split(' ')
    if (!mayTry(entry.closest('section')?.querySelector('h2')?.id, method, path)) continue
    // Created when opened, because a hundred forms would slow the page down.
    entry.addEventListener(
      'toggle',
      () => {
        const element = root.createElement('div')
        entry.append(element)
        render(<TryIt method={method} path={path} />, element)
      },
      { once: true },
    )
  }
}

export function mayTry(group: string | undefined, method: string, path: string): boolean {
  return group === 'safe' && (method === 'GET' || /\/verify(-with-treaty)?$/.test(path))
}

const SHOWN_CHARACTERS = 20_000

function TryIt({ method, path }: { readonly method: string; readonly path: string }): JSX.Element {
  const names = [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1] ?? '')
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [query, setQuery] = useState('')
  const [body, setBody] = useState('{}')
  const [response, setResponse] = useState<{ readonly status: string; readonly text: string }>()
  const set = (name: string, value: string): void => setValues({ ...values, [name]: value })
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    const filled = path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
    setResponse(await call(method, filled + (query === '' ? '' : `?${query}`), body))
  }
  return (
    <form class="try" onSubmit={(event) => void send(event)}>
      <h3>Try it</h3>
      {names.map((name) => (
        <label key={name}>
          {name}{' '}
          <input
            class="input"
            required
            value={values[name] ?? ''}
            onInput={(event) => set(name, event.currentTarget.value)}
          />
        </label>
      ))}
      {method === 'GET' ? (
        <label>
          Query{' '}
          <input
            class="input"
            placeholder="name=value&other=value"
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
        </label>
      ) : (
        <label>
          Body <textarea class="input" rows={5} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
        </label>
      )}
      <button class="btn primary">Send {method}</button>
      {response === undefined ? null : (
        <div class="answer" role="status">
          <p>{response.status}</p>
          <pre tabIndex={0}>{response.text}</pre>
        </div>
      )}
    </form>
  )
}

async function call(method: string, target: string, body: string): Promise<{ status: string; text: string }> {
  try {
    const started = performance.now()
    const response = await fetch(target, {
      method,
      credentials: 'omit',
      ...(method === 'GET' ? {} : { body, headers: { 'Content-Type': 'application/json' } }),
    })
    const text = await response.text()
    return {
      status: `${response.status} in ${Math.round(performance.now() - started)} ms`,
      text: tidy(text).slice(0, SHOWN_CHARACTERS),
    }
  } catch (error) {
    return { status: 'No response', text: explain(error) }
  }
}

/** Indents JSON. Returns other text unchanged. */
function tidy(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
