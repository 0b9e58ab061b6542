import { QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { base } from './api/client.ts'
import { queries } from './api/use-live.ts'
import { App } from './App.tsx'
import { listenToKeys } from './keys.ts'

listenToKeys()

const root = document.getElementById('app')
if (root === null) throw new Error('The page has no #app')
createRoot(root).render(
  <QueryClientProvider client={queries}>
    <Router base={base.pathname.replace(/\/$/, '')}>
      <App />
    </Router>
  </QueryClientProvider>,
)
